//! Users and access rules: codes 3001 to 3010.

use super::body::body;
use crate::header;

header! {
    /// Header of the request AUTH_CREATE_USER (3001).
    pub struct CreateUserRequestHeader<'a> {
        /// Username.
        pub username: Option<&'a str> = "username",
    }
}

header! {
    /// Header of the request AUTH_UPDATE_USER (3002).
    pub struct UpdateUserRequestHeader<'a> {
        /// Username.
        pub username: Option<&'a str> = "username",
    }
}

header! {
    /// Header of the request AUTH_DELETE_USER (3003).
    pub struct DeleteUserRequestHeader<'a> {
        /// Username.
        pub username: Option<&'a str> = "username",
    }
}

header! {
    /// Header of the request AUTH_GET_USER (3004).
    pub struct GetUserRequestHeader<'a> {
        /// Username.
        pub username: Option<&'a str> = "username",
    }
}

header! {
    /// Header of the request AUTH_LIST_USER (3005).
    pub struct ListUsersRequestHeader<'a> {
        /// Filter.
        pub filter: Option<&'a str> = "filter",
    }
}

header! {
    /// Header of the request AUTH_CREATE_ACL (3006).
    pub struct CreateAclRequestHeader<'a> {
        /// Subject.
        pub subject: Option<&'a str> = "subject",
    }
}

header! {
    /// Header of the request AUTH_UPDATE_ACL (3007).
    pub struct UpdateAclRequestHeader<'a> {
        /// Subject.
        pub subject: Option<&'a str> = "subject",
    }
}

header! {
    /// Header of the request AUTH_DELETE_ACL (3008).
    pub struct DeleteAclRequestHeader<'a> {
        /// Subject.
        pub subject: Option<&'a str> = "subject",
        /// Policy type.
        pub policy_type: Option<&'a str> = "policyType",
        /// Resource.
        pub resource: Option<&'a str> = "resource",
    }
}

header! {
    /// Header of the request AUTH_GET_ACL (3009).
    pub struct GetAclRequestHeader<'a> {
        /// Subject.
        pub subject: Option<&'a str> = "subject",
    }
}

header! {
    /// Header of the request AUTH_LIST_ACL (3010).
    pub struct ListAclsRequestHeader<'a> {
        /// Subject filter.
        pub subject_filter: Option<&'a str> = "subjectFilter",
        /// Resource filter.
        pub resource_filter: Option<&'a str> = "resourceFilter",
    }
}

body! {
    /// Body of the requests AUTH_CREATE_USER (3001), AUTH_UPDATE_USER (3002) and of the responses to AUTH_GET_USER (3004), AUTH_LIST_USER (3005).
    pub struct UserInfo {
        /// Password.
        pub password: String,
        /// User status.
        pub user_status: String,
        /// User type.
        pub user_type: String,
        /// Username.
        pub username: String,
    }
}

body! {
    /// Body of the requests AUTH_CREATE_ACL (3006), AUTH_UPDATE_ACL (3007) and of the responses to AUTH_GET_ACL (3009), AUTH_LIST_ACL (3010).
    pub struct AclInfo {
        /// Policies.
        pub policies: Option<Vec<PolicyInfo>>,
        /// Subject.
        pub subject: String,
    }
}

body! {
    /// A policy.
    pub struct PolicyInfo {
        /// Entries.
        pub entries: Option<Vec<PolicyEntryInfo>>,
        /// Policy type.
        pub policy_type: String,
    }
}

body! {
    /// Who may do what to which resource.
    pub struct PolicyEntryInfo {
        /// Actions.
        pub actions: Option<Vec<String>>,
        /// Decision.
        pub decision: String,
        /// Resource.
        pub resource: String,
        /// Source ips.
        pub source_ips: Option<Vec<String>>,
    }
}
