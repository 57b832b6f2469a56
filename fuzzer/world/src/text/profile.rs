//! Reads fault profiles: a word of a schedule's tail, or a file of them (`docs/formats.md`).

use super::TEXT_BYTES_MAX;
use super::error::ParseError;
use super::scan::{Content, Line, Lines, Word};
use crate::profile::{FaultKind, FaultProfile, FaultWeights};

/// How many profiles a file may hold.
const PROFILES_MAX: usize = 1_000;

/// Reads a profile as one word: a name, or what differs from the default: `drop=0,crash=80`.
///
/// # Errors
/// A name or a fault that is not known, a weight out of range, or a fault that is named twice.
pub fn parse_faults(text: &str) -> Result<FaultProfile, ParseError> {
    let mut lines = Lines::new(text);
    let line = lines.next().ok_or_else(|| lines.ends_before("a fault profile"))?;
    faults(line.whole())
}

pub(super) fn faults(word: Word<'_>) -> Result<FaultProfile, ParseError> {
    if let Some(profile) = FaultProfile::named(word.text) {
        return Ok(profile);
    }
    if !word.text.contains('=') {
        let known = FaultProfile::ALL.iter().map(|(_, name)| *name);
        return Err(word.error("a fault profile").near(word.text, known));
    }
    let (mut weights, mut seen, mut rest) = (FaultWeights::default(), Vec::new(), Some(word));
    while let Some(left) = rest {
        let (part, after) = left.split_once(",").map_or((left, None), |(part, rest)| (part, Some(rest)));
        weights = weight(part, weights, &mut seen)?;
        rest = after;
    }
    Ok(FaultProfile::of(weights))
}

/// Puts `drop=40` over the weights.
fn weight(
    part: Word<'_>,
    weights: FaultWeights,
    seen: &mut Vec<FaultKind>,
) -> Result<FaultWeights, ParseError> {
    let (name, number) = part.split_once("=").ok_or_else(|| part.error("a fault like `drop=40`"))?;
    let (name, number) = (name.trimmed(), number.trimmed());
    let kind = FaultKind::named(name.text).ok_or_else(|| {
        name.error("a fault").near(name.text, FaultKind::ALL.iter().map(|(_, name, _)| *name))
    })?;
    if seen.contains(&kind) {
        return Err(name.error("each fault once"));
    }
    seen.push(kind);
    let weight = number.number(0, u64::from(FaultWeights::MAX), "a weight")?;
    Ok(weights.with(kind, weight as u16))
}

/// Reads a file of profiles: each a line `[name]` and lines like `drop = 40`; what has no line keeps the weight of the
/// default. A file of one profile needs no name. Returns names and profiles in the order of the file.
///
/// # Errors
/// The first line that is neither, a name or a fault that is there twice, or a file without any.
pub fn parse_profiles(text: &str) -> Result<Vec<(String, FaultProfile)>, ParseError> {
    let mut lines = Lines::new(text.strip_prefix('\u{feff}').unwrap_or(text));
    let mut profiles: Vec<(String, FaultWeights)> = Vec::new();
    let mut seen = Vec::new();
    for line in lines.by_ref() {
        if text.len() > TEXT_BYTES_MAX || profiles.len() > PROFILES_MAX {
            return Err(line.too_many(format!("at most {PROFILES_MAX} profiles")));
        }
        if matches!(line.content(), Content::Comment(_)) {
            continue;
        }
        if let Some(name) = section(line)? {
            if profiles.iter().any(|(known, _)| known == name.text) {
                return Err(name.error("each profile once"));
            }
            profiles.push((name.text.to_owned(), FaultWeights::default()));
            seen.clear();
            continue;
        }
        if profiles.is_empty() {
            profiles.push((String::new(), FaultWeights::default()));
        }
        if let Some((_, weights)) = profiles.last_mut() {
            *weights = weight(line.whole(), *weights, &mut seen)?;
        }
    }
    if profiles.is_empty() {
        return Err(lines.ends_before("a fault like `drop = 40`"));
    }
    Ok(profiles.into_iter().map(|(name, weights)| (name, FaultProfile::of(weights))).collect())
}

/// The name in a line `[name]`.
fn section(line: Line<'_>) -> Result<Option<Word<'_>>, ParseError> {
    let whole = line.whole();
    let Some(rest) = whole.strip_prefix("[") else { return Ok(None) };
    match rest.split_once("]") {
        Some((name, after)) if after.text.is_empty() && is_name(name.text) => Ok(Some(name)),
        _ => Err(whole.error("a name like `[calm]`, without white space")),
    }
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && !text.contains(|c: char| c.is_whitespace() || c == ':')
}

#[cfg(test)]
mod tests {
    use super::{parse_faults, parse_profiles};
    use crate::profile::{FaultKind, FaultProfile, FaultWeights};

    #[test]
    fn a_file_holds_one_profile_or_some_with_names() {
        let drops = FaultWeights::default().with(FaultKind::Drop, 40);
        let calm = FaultProfile::Custom(drops.with(FaultKind::Crash, 0));
        let one = parse_profiles("# why\n\ndrop = 40\r\n crash=0\n").unwrap();
        assert_eq!(one, [(String::new(), calm)]);
        let two = parse_profiles("\u{feff}[calm]\ndrop=40\ncrash =0\n[drops]\ndrop = 40\n[same]").unwrap();
        let named = |name: &str, profile| (name.to_owned(), profile);
        let (drops, same) = (FaultProfile::Custom(drops), FaultProfile::Default);
        assert_eq!(two, [named("calm", calm), named("drops", drops), named("same", same)]);
    }

    #[test]
    fn words_read_back() {
        for word in ["none", "light", "default", "heavy", "swarm", "drop=0", "drop=1,swizzle=40,slow=10000"] {
            assert_eq!(parse_faults(word).unwrap().to_string(), word);
        }
        assert_eq!(parse_faults("drop=200").unwrap(), FaultProfile::Default, "the default's own weight");
    }

    #[test]
    fn errors_say_where_and_what() {
        for (text, message) in [
            ("", "line 1, column 1: expected a fault like `drop = 40`, found the end of the file"),
            ("# only\n", "line 2, column 1: expected a fault like `drop = 40`, found the end of the file"),
            (
                "drop = 40\ndorp = 3\n",
                "line 2, column 1: expected a fault, found `dorp` (did you mean `drop`?)",
            ),
            ("drop = 40\n  drop = 3\n", "line 2, column 3: expected each fault once, found `drop`"),
            ("drop = 10001\n", "line 1, column 8: expected a weight from 0 to 10000, found `10001`"),
            ("drop\n", "line 1, column 1: expected a fault like `drop=40`, found `drop`"),
            ("[a]\n[a]\n", "line 2, column 2: expected each profile once, found `a`"),
            (
                "[a b]\n",
                "line 1, column 1: expected a name like `[calm]`, without white space, found `[a b]`",
            ),
        ] {
            assert_eq!(parse_profiles(text).unwrap_err().to_string(), message);
        }
        for (word, message) in [
            ("hevy\n", "line 1, column 1: expected a fault profile, found `hevy` (did you mean `heavy`?)"),
            ("drop=1,crsh=2\n", "line 1, column 8: expected a fault, found `crsh` (did you mean `crash`?)"),
            ("drop=1,drop=2\n", "line 1, column 8: expected each fault once, found `drop`"),
        ] {
            assert_eq!(parse_faults(word).unwrap_err().to_string(), message);
        }
    }
}
