//! Damaged text is refused in good order: no panic, and a place that exists.

use super::{SAMPLE, vocabulary};
use crate::rng::Rng;
use crate::text::{ParseError, ParseErrorKind, parse, print, utf8};
use crate::vocabulary::Vocabulary;

fn read(bytes: &[u8], vocabulary: &Vocabulary) -> Result<(), ParseError> {
    let file = parse(utf8(bytes)?, vocabulary)?;
    // What is accepted is a schedule: it is stable once written.
    let text = print(&file, vocabulary);
    assert_eq!(print(&parse(&text, vocabulary)?, vocabulary), text);
    Ok(())
}

fn check_place(bytes: &[u8], error: &ParseError) {
    let text = String::from_utf8_lossy(bytes);
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    // A file that ends in a line end has an empty line after it, where the next would stand.
    let line = text.split('\n').nth(error.line - 1);
    let line = line.unwrap_or_else(|| panic!("no line for {error}\n{text}"));
    assert!((1..=1 + line.chars().count()).contains(&error.column), "{error}\n{text}");
}

/// Changes some bytes: set, removed, inserted, copied from elsewhere in the text.
fn damage(bytes: &mut Vec<u8>, rng: &mut Rng) {
    for _ in 0..=rng.below(3) {
        if bytes.is_empty() {
            return;
        }
        let at = rng.below(bytes.len() as u32) as usize;
        let other = bytes[rng.below(bytes.len() as u32) as usize];
        match rng.below(6) {
            0 => bytes[at] = rng.next() as u8,
            1 => bytes[at] = other,
            2 => drop(bytes.remove(at)),
            3 => bytes.insert(at, rng.next() as u8),
            4 => bytes.insert(at, b"\n\r\t #0->="[rng.below(9) as usize]),
            _ => {
                let end = (at + rng.below(40) as usize).min(bytes.len());
                let piece: Vec<u8> = bytes[at..end].to_vec();
                let to = rng.below(bytes.len() as u32 + 1) as usize;
                bytes.splice(to..to, piece);
            }
        }
    }
}

#[test]
fn damaged_text_is_refused_in_good_order() {
    let (vocabulary, mut rng) = (vocabulary(), Rng::new(2));
    let mut refused = 0;
    for _ in 0..30_000 {
        let mut bytes = SAMPLE.as_bytes().to_vec();
        damage(&mut bytes, &mut rng);
        if let Err(error) = read(&bytes, &vocabulary) {
            check_place(&bytes, &error);
            refused += 1;
        }
    }
    assert!(refused > 10_000, "{refused}");
}

#[test]
fn text_cut_anywhere_is_accepted_or_truncated() {
    let vocabulary = vocabulary();
    let bytes = SAMPLE.as_bytes().to_vec();
    for end in 0..bytes.len() {
        if let Err(error) = read(&bytes[..end], &vocabulary) {
            check_place(&bytes[..end], &error);
            assert_eq!(error.kind, ParseErrorKind::Truncated, "{error}");
        }
    }
}
