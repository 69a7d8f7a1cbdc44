//! Texts that somebody could choose for a name, a title, a path or a message, to have a command run that nobody wanted.

/// Texts that mean something to tmux, to a shell or to the control protocol. `CANARY` stands for a path that must
/// never come to exist.
pub(crate) const HOSTILE: &[&[u8]] = &[
    b"",
    b" ",
    b"  two  spaces  ",
    b"plain",
    b"'",
    b"''",
    b"\"",
    b"\"\"",
    b"it's \"both\"",
    b"\\",
    b"\\\\",
    b"trailing\\",
    b"\\n",
    b"\\041",
    b"\\u0041",
    b"$HOME",
    b"${HOME}",
    b"'$HOME",
    b"$",
    b"~",
    b"~root",
    b"'~",
    b"\n~",
    b"a=~",
    b"{",
    b"}",
    b"{ run-shell 'touch CANARY' }",
    b"%if 1",
    b"%endif",
    b"%hidden X=1",
    b"X=1",
    b";",
    b"a;",
    b"a ;",
    b"a \\;",
    b"; run-shell 'touch CANARY'",
    b"' ; run-shell 'touch CANARY' ; '",
    b"\" ; run-shell \"touch CANARY\" ; \"",
    b"\n run-shell 'touch CANARY'",
    b"'\nrun-shell 'touch CANARY'\n'",
    b"\r\nrun-shell 'touch CANARY'\r\n",
    b"#(touch CANARY)",
    b"#{l:#(touch CANARY)}",
    b"'#(touch CANARY)",
    b"#",
    b"##",
    b"# comment",
    b"#{pid}",
    b"#{",
    b"#}",
    b"#[fg=red]",
    b"##[#(touch CANARY)]",
    b"\xff ; run-shell 'touch CANARY'",
    b"###",
    b"-",
    b"--",
    b"-t",
    b"-t%0",
    b"\t",
    b"\ta\tb\t",
    b"\n",
    b"\n\n",
    b"a\nb\n",
    b"\x01\x02\x1b[31m\x07\x7f",
    b"\xff\xfe",
    b"\xc3",
    b"\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80",
    b"'\xff\n",
    b"\xe2\x80\xae\xc2\x9b",
    b"%end 1 2 3",
    b"%begin 1 2 3\n%end 1 2 3",
    b"%exit",
    b"`touch CANARY`",
    b"$(touch CANARY)",
    b"| touch CANARY",
    b"&& touch CANARY",
    b"> CANARY",
    b"*?[a]!^",
    b"%1 %% %s %Y",
    b"@x =x $0 %0 !",
];

/// What would run, in every language between a person and a tmux server.
const PAYLOADS: &[&[u8]] = &[
    b"#(touch CANARY)",
    b"#{l:#(touch CANARY)}",
    b"#{E:#{l:##(touch CANARY)}}",
    b"#{T:#{l:##(touch CANARY)}}",
    b"#{?1,#(touch CANARY),}",
    b"#{P:#(touch CANARY)}",
    b"#{q:#(touch CANARY)}",
    b"; run-shell 'touch CANARY'",
    b"\nrun-shell \"touch CANARY\"\n",
    b"} ; run-shell 'touch CANARY' ; {",
    b"$(touch CANARY)",
    b"`touch CANARY`",
    b"';touch CANARY;'",
    b"\";touch CANARY;\"",
    b"\ntouch CANARY\n",
    b"%if 1\nrun-shell 'touch CANARY'\n%endif",
];

/// How a payload could be brought to where it is read as a command: before it and after it.
const WRAPPINGS: &[(&[u8], &[u8])] = &[
    (b"", b""),
    (b"'", b"'"),
    (b"\"", b"\""),
    (b"a\\", b"\\"),
    (b"-t", b""),
    (b"##", b""),
    (b"#[fg=red]", b"#[default]"),
    (b",", b",}"),
    (b"}}}", b""),
    (b"\xff", b";"),
    (b"\xe2\x80\xae", b"\xe2\x80\xac"),
    (b"%1 ", b" %H%M"),
];

/// Every text of the corpus: the short ones first, then every payload in every wrapping. At least 200.
pub(crate) fn corpus(canary: &str) -> Vec<Vec<u8>> {
    let wrapped = PAYLOADS
        .iter()
        .flat_map(|payload| WRAPPINGS.iter().map(|(before, after)| [*before, *payload, *after].concat()));
    let mut texts: Vec<_> = HOSTILE.iter().map(|text| text.to_vec()).chain(wrapped).collect();
    texts.sort();
    texts.dedup();
    texts.iter().map(|text| with_canary(text, canary)).collect()
}

/// As many of the corpus as `AGTMUX_CASES` says, spread evenly over it; 60 unless it says so.
pub(crate) fn some_of(texts: Vec<Vec<u8>>) -> Vec<Vec<u8>> {
    let wanted = std::env::var("AGTMUX_CASES").ok().and_then(|count| count.parse().ok()).unwrap_or(60_usize);
    let step = texts.len().div_ceil(wanted.clamp(1, texts.len()));
    texts.into_iter().step_by(step).collect()
}

/// A text with the path of the canary in it.
pub(crate) fn with_canary(text: &[u8], canary: &str) -> Vec<u8> {
    let mut rest = text;
    let mut result = Vec::new();
    while let Some(at) = rest.windows(6).position(|window| window == b"CANARY") {
        result.extend_from_slice(&rest[..at]);
        result.extend_from_slice(canary.as_bytes());
        rest = &rest[at + 6..];
    }
    result.extend_from_slice(rest);
    result
}
