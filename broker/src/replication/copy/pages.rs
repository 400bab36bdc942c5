//! Tables that a master gives in pages. One of 4.9.x gives all at once and no total.

use apogee_remoting::json;
use apogee_remoting::protocol::data_version::DataVersion;

/// One page.
pub(super) struct Page<T> {
    pub(super) version: DataVersion,
    pub(super) content: T,
    /// Entries of the page.
    pub(super) count: usize,
    /// Entries of the whole table, where the master says so.
    pub(super) total: Option<i32>,
}

/// Asks page after page, and begins again when the table changes meanwhile. `ask` takes the number of the first entry, the
/// version of the pages so far as text, and gives a page.
pub(super) async fn gather<T, F: Future<Output = Result<Page<T>, String>>>(
    mut ask: impl FnMut(i32, String) -> F,
) -> Result<(DataVersion, Vec<T>), String> {
    let mut pages = Vec::new();
    let mut count = 0;
    let mut version: Option<DataVersion> = None;
    for _ in 0..MOST_PAGES {
        let known = version.map(|version| String::from_utf8_lossy(&json::to_vec(&version)).into_owned());
        let page = ask(count as i32, known.unwrap_or_default()).await?;
        if version.is_some_and(|version| version != page.version) {
            pages.clear();
            count = 0;
            version = None;
            continue;
        }
        version = Some(page.version);
        count += page.count;
        let is_last = page.count == 0 || page.total.is_none_or(|total| count >= total.max(0) as usize);
        let current = page.version;
        pages.push(page.content);
        if is_last {
            return Ok((current, pages));
        }
    }
    Err("the table changes faster than it can be read".to_owned())
}

/// As many entries as the reference's slave asks for at once.
pub(super) const PAGE_SIZE: i32 = 2000;
const MOST_PAGES: usize = 10_000;

#[cfg(test)]
mod tests {
    use super::*;

    fn version(counter: i64) -> DataVersion {
        DataVersion { counter, ..DataVersion::default() }
    }

    /// A table of `total` numbers whose version is that of `versions`, one for each question.
    async fn gathered(total: i32, versions: &[i64]) -> (Vec<i32>, Vec<(i32, bool)>) {
        let mut asked = Vec::new();
        let gathered = gather(|first, known| {
            let version = version(versions[asked.len()]);
            asked.push((first, known.is_empty()));
            let content: Vec<i32> = (first..total.min(first + 3)).collect();
            async move { Ok(Page { version, count: content.len(), content, total: Some(total) }) }
        });
        let (_, pages) = gathered.await.unwrap();
        (pages.concat(), asked)
    }

    #[tokio::test]
    async fn pages_make_the_table() {
        assert_eq!(gathered(7, &[1; 3]).await, ((0..7).collect(), vec![(0, true), (3, false), (6, false)]));
        assert_eq!(gathered(0, &[1]).await, (vec![], vec![(0, true)]));
    }

    #[tokio::test]
    async fn a_table_that_changes_is_read_again() {
        let (table, asked) = gathered(7, &[1, 2, 2, 2, 2]).await;
        assert_eq!((table, asked.len()), ((0..7).collect(), 5));
    }

    #[tokio::test]
    async fn an_old_master_gives_one_page() {
        let page = || async { Ok(Page { version: version(1), content: 5, count: 3, total: None }) };
        assert_eq!(gather(|_, _| page()).await, Ok((version(1), vec![5])));
    }
}
