//! Users and access rules: codes 3001 to 3010.

use super::body::body;
use crate::header;

header! {
    /// Header of the request AUTH_CREATE_USER (3001).
    pub struct CreateUserRequestHeader<'a> {
        /// User.
        pub username: Option<&'a str> = "username",
    }
}

header! {
    /// Header of the request AUTH_UPDATE_USER (3002).
    pub struct UpdateUserRequestHeader<'a> {
        /// User.
        pub username: Option<&'a str> = "username",
    }
}

header! {
    /// Header of the request AUTH_DELETE_USER (3003).
    pub struct DeleteUserRequestHeader<'a> {
        /// User.
        pub username: Option<&'a str> = "username",
    }
}

header! {
    /// Header of the request AUTH_GET_USER (3004).
    pub struct GetUserRequestHeader<'a> {
        /// User.
        pub username: Option<&'a str> = "username",
    }
}

header! {
    /// Header of the request AUTH_LIST_USER (3005).
    pub struct ListUsersRequestHeader<'a> {
        /// Text that names must contain.
        pub filter: Option<&'a str> = "filter",
    }
}

header! {
    /// Header of the request AUTH_CREATE_ACL (3006).
    pub struct CreateAclRequestHeader<'a> {
        /// Subject: User:name.
        pub subject: Option<&'a str> = "subject",
    }
}

header! {
    /// Header of the request AUTH_UPDATE_ACL (3007).
    pub struct UpdateAclRequestHeader<'a> {
        /// Subject: User:name.
        pub subject: Option<&'a str> = "subject",
    }
}

header! {
    /// Header of the request AUTH_DELETE_ACL (3008).
    pub struct DeleteAclRequestHeader<'a> {
        /// Subject: User:name.
        pub subject: Option<&'a str> = "subject",
        /// Custom or Default.
        pub policy_type: Option<&'a str> = "policyType",
        /// Resource: Topic:name, Group:name, Cluster:name or *.
        pub resource: Option<&'a str> = "resource",
    }
}

header! {
    /// Header of the request AUTH_GET_ACL (3009).
    pub struct GetAclRequestHeader<'a> {
        /// Subject: User:name.
        pub subject: Option<&'a str> = "subject",
    }
}

header! {
    /// Header of the request AUTH_LIST_ACL (3010).
    pub struct ListAclsRequestHeader<'a> {
        /// Text that subjects must contain.
        pub subject_filter: Option<&'a str> = "subjectFilter",
        /// Text that resources must contain.
        pub resource_filter: Option<&'a str> = "resourceFilter",
    }
}

body! {
    /// Body of the requests 3001, 3002 and of the responses to 3004, 3005.
    pub struct UserInfo {
        /// Password.
        pub password: String,
        /// enable or disable.
        pub user_status: String,
        /// Super or Normal.
        pub user_type: String,
        /// User.
        pub username: String,
    }
}

body! {
    /// Body of the requests 3006, 3007 and of the responses to 3009, 3010.
    pub struct AclInfo {
        /// Policies.
        pub policies: Option<Vec<PolicyInfo>>,
        /// Subject: User:name.
        pub subject: String,
    }
}

body! {
    /// A policy.
    pub struct PolicyInfo {
        /// Entries.
        pub entries: Option<Vec<PolicyEntryInfo>>,
        /// Custom or Default.
        pub policy_type: String,
    }
}

body! {
    /// Who may do what to which resource.
    pub struct PolicyEntryInfo {
        /// Actions.
        pub actions: Option<Vec<String>>,
        /// Allow or Deny.
        pub decision: String,
        /// Resource: Topic:name, Group:name, Cluster:name or *.
        pub resource: String,
        /// Addresses it holds for.
        pub source_ips: Option<Vec<String>>,
    }
}
