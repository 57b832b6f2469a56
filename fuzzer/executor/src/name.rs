//! Names of tasks, from the types of their futures.

/// A short name for a future of this type: `Tick::tick_loop` for
/// `tracing::instrument::Instrumented<openraft::core::tick::Tick<C>::tick_loop::{{closure}}>`.
pub(crate) fn short_name(full: &str) -> String {
    let full = inside_wrappers(full);
    let mut plain = String::new();
    let mut depth = 0_u32;
    for letter in full.chars() {
        match letter {
            '<' => depth += 1,
            '>' => depth = depth.saturating_sub(1),
            _ if depth == 0 => plain.push(letter),
            _ => {}
        }
    }
    let parts: Vec<&str> =
        plain.split("::").filter(|part| !part.is_empty() && *part != "{{closure}}").collect();
    let last = parts.len().saturating_sub(2);
    parts[last..].join("::")
}

/// What `Instrumented<…>` instruments.
fn inside_wrappers(mut full: &str) -> &str {
    while let Some((wrapper, rest)) = full.split_once('<') {
        if !wrapper.ends_with("Instrumented") {
            break;
        }
        full = rest.strip_suffix('>').unwrap_or(rest);
    }
    full
}

#[cfg(test)]
mod tests {
    use super::short_name;

    #[test]
    fn names_are_short() {
        let table = [
            (
                "tracing::instrument::Instrumented<openraft::core::tick::Tick<a::C>::tick_loop::{{closure}}>",
                "Tick::tick_loop",
            ),
            (
                "openraft::replication::ReplicationCore<C, N<X<Y>>, L>::main::{{closure}}",
                "ReplicationCore::main",
            ),
            ("two_tasks::increment::{{closure}}", "two_tasks::increment"),
            ("a::b::c::{{closure}}::{{closure}}", "b::c"),
            ("main", "main"),
            ("", ""),
        ];
        for (full, short) in table {
            assert_eq!(short_name(full), short, "{full}");
        }
    }
}
