//! Numbers, seeds and times as people write them.

use std::time::Duration;

/// A count: `1000000`, `1_000_000`, `1e6`, `10M`, `2k`.
pub(crate) fn count(text: &str) -> Result<u64, String> {
    let error = || format!("`{text}` is not a count; write 1000000, 1_000_000, 1e6 or 1M");
    let text = text.replace('_', "");
    let (digits, zeros) = match text.char_indices().find(|(_, c)| !c.is_ascii_digit()) {
        None => (text.as_str(), 0),
        Some((at, letter)) => {
            let rest = &text[at + letter.len_utf8()..];
            let zeros = match (letter, rest) {
                ('k' | 'K', "") => 3,
                ('M', "") => 6,
                ('G', "") => 9,
                ('e' | 'E', rest) if rest.bytes().all(|byte| byte.is_ascii_digit()) => {
                    rest.parse::<u32>().map_err(|_| error())?
                }
                _ => return Err(error()),
            };
            (&text[..at], zeros)
        }
    };
    let number: u64 = digits.parse().map_err(|_| error())?;
    let factor = 10_u64.checked_pow(zeros).ok_or_else(|| format!("`{text}` is too large"))?;
    number.checked_mul(factor).ok_or_else(|| format!("`{text}` is too large"))
}

/// A count that must fit into 32 bits and not be 0.
pub(crate) fn steps(text: &str) -> Result<u32, String> {
    let number = count(text)?;
    u32::try_from(number).ok().filter(|number| *number > 0).ok_or_else(|| format!("`{text}` is out of range"))
}

/// A seed: a number, or 40 hex digits as git writes a commit, so that each commit tests another seed.
pub(crate) fn seed(text: &str) -> Result<u64, String> {
    if text.len() == 40 && text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return u64::from_str_radix(&text[..16], 16).map_err(|error| error.to_string());
    }
    text.replace('_', "")
        .parse()
        .map_err(|_| format!("`{text}` is not a seed; write a number or the 40 hex digits of a commit"))
}

/// A time: `500ms`, `30s`, `5m`, `2h`; a bare number is seconds.
pub(crate) fn time(text: &str) -> Result<Duration, String> {
    let error = || format!("`{text}` is not a time; write 500ms, 30s, 5m or 2h");
    let at = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let number: u64 = text[..at].parse().map_err(|_| error())?;
    let factor = match &text[at..] {
        "ms" => 1,
        "" | "s" => 1_000,
        "m" => 60_000,
        "h" => 3_600_000,
        _ => return Err(error()),
    };
    number.checked_mul(factor).map(Duration::from_millis).ok_or_else(error)
}

/// `KEY=VALUE`.
pub(crate) fn setting(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err(format!("`{text}` is not KEY=VALUE")),
    }
}

#[cfg(test)]
mod tests {
    use super::{count, seed, setting, steps, time};
    use std::time::Duration;

    #[test]
    fn counts_are_read_as_people_write_them() {
        for (text, number) in [
            ("0", 0),
            ("1000000", 1_000_000),
            ("1_000_000", 1_000_000),
            ("1e6", 1_000_000),
            ("25E2", 2500),
            ("10M", 10_000_000),
            ("2k", 2000),
            ("3G", 3_000_000_000),
        ] {
            assert_eq!(count(text), Ok(number), "{text}");
        }
        for text in ["", "e6", "1e", "M", "1.5M", "-1", "1e30", "99999999999G", "1Mi", "1é", "1e-3"] {
            assert!(count(text).is_err(), "{text}");
        }
        assert_eq!(steps("30k"), Ok(30_000));
        assert!(steps("0").is_err() && steps("5G").is_err());
    }

    #[test]
    fn seeds_are_numbers_or_commits() {
        assert_eq!(seed("7"), Ok(7));
        assert_eq!(seed("0123456789abcdef0123456789abcdef01234567"), Ok(0x0123_4567_89ab_cdef));
        assert!(seed("0123456789abcdef").is_err() && seed("x").is_err() && seed("").is_err());
    }

    #[test]
    fn times_have_units() {
        assert_eq!(time("500ms"), Ok(Duration::from_millis(500)));
        assert_eq!(time("30s"), Ok(Duration::from_secs(30)));
        assert_eq!(time("5m"), Ok(Duration::from_mins(5)));
        assert_eq!(time("2h"), Ok(Duration::from_hours(2)));
        assert_eq!(time("10"), Ok(Duration::from_secs(10)));
        assert!(time("s").is_err() && time("1d").is_err() && time("1é").is_err());
    }

    #[test]
    fn settings_have_a_key() {
        assert_eq!(setting("a=b=c"), Ok(("a".to_owned(), "b=c".to_owned())));
        assert!(setting("=b").is_err() && setting("a").is_err());
    }
}
