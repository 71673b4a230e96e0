//! Lists of names put together when the program is compiled: a stage that works with others inside has their drop
//! reasons behind its own.

/// All names in order. `N` is how many they are together.
pub(super) const fn concat<const N: usize, const K: usize>(
    lists: [&[&'static str]; K],
) -> [&'static str; N] {
    let mut all = [""; N];
    let (mut list, mut at) = (0, 0);
    while list < K {
        let mut name = 0;
        while name < lists[list].len() {
            all[at] = lists[list][name];
            at += 1;
            name += 1;
        }
        list += 1;
    }
    all
}
