//! Chat templates that reach for the program that renders them.
//!
//! A template is a Jinja program. What has been used to break out of one is to walk from any value over Python's
//! internals to a module (`x.__class__`, `f.__globals__`), the same with names put together from escapes or looked up
//! by a filter, and the calls at the end of that walk. Names of internals are looked for anywhere, since what is code
//! and what is text cannot be told for certain without the renderer; calls only in code outside its strings, since
//! prompts that templates hold may well speak of them.

/// Names that lead from a value to the interpreter. Those that code in a prompt may hold, such as `__init__` and
/// `__name__`, lead nowhere without one of these.
const INTERNALS: [&[u8]; 20] = [
    b"class",
    b"base",
    b"bases",
    b"mro",
    b"subclasses",
    b"globals",
    b"builtins",
    b"import",
    b"getattribute",
    b"getattr",
    b"dict",
    b"code",
    b"closure",
    b"reduce",
    b"reduce_ex",
    b"loader",
    b"self",
    b"func",
    b"wrapped",
    b"subclasshook",
];

/// Other texts that no template for people needs: escapes of an underscore, and the renderer's own objects.
const TEXTS: [&[u8]; 6] = [b"\\x5f", b"\\x5F", b"\\u005f", b"\\u005F", b"\\137", b"_TemplateReference"];

/// Calls that run or load something.
const CALLS: [&[u8]; 5] = [b"eval", b"exec", b"popen", b"getattr", b"attr"];

/// Names that begin a statement which loads another template.
const LOADS: [&[u8]; 3] = [b"import", b"include", b"extends"];

/// Modules that code outside a template would use.
const MODULES: [&[u8]; 5] = [b"os", b"sys", b"subprocess", b"importlib", b"builtins"];

/// Where in `template` something stands that reaches out, in bytes from its beginning.
pub(super) fn reaches_out(template: &[u8]) -> Option<usize> {
    let text = internals(template).into_iter();
    let other = TEXTS.iter().filter_map(|text| find(template, text));
    text.chain(other).chain(code(template)).min()
}

fn find(text: &[u8], wanted: &[u8]) -> Option<usize> {
    text.windows(wanted.len()).position(|window| window == wanted)
}

/// The first name of an internal between double underscores.
fn internals(template: &[u8]) -> Option<usize> {
    let mut rest = template;
    loop {
        let at = find(rest, b"__")?;
        // The last two of a longer run begin the name.
        let run = rest.get(at..)?.iter().take_while(|byte| **byte == b'_').count();
        rest = rest.get(at.saturating_add(run)..)?;
        let named = |name: &&&[u8]| rest.strip_prefix(**name).is_some_and(|after| after.starts_with(b"__"));
        if INTERNALS.iter().any(|name| named(&name)) {
            return Some(template.len().saturating_sub(rest.len()).saturating_sub(2));
        }
    }
}

const fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// The first call, load or module in code.
fn code(template: &[u8]) -> Option<usize> {
    let mut rest = template;
    loop {
        let open = rest.windows(2).position(|pair| matches!(pair, b"{{" | b"{%" | b"{#"))?;
        let kind = rest.get(open.saturating_add(1)).copied();
        rest = rest.get(open.saturating_add(2)..)?;
        if kind == Some(b'#') {
            rest = rest.get(find(rest, b"#}")?.saturating_add(2)..)?;
            continue;
        }
        let mut first = kind == Some(b'%');
        loop {
            let (word, after) = next_word(rest)?;
            if word.is_empty() {
                rest = after;
                break;
            }
            if is_foul(word, after, first) {
                let at = template.len().saturating_sub(after.len()).saturating_sub(word.len());
                return Some(at);
            }
            // `from x import y` loads too.
            first = word == b"from";
            rest = after;
        }
    }
}

/// Whether a word of code, with what follows it, reaches out; `first` where it may begin a statement.
fn is_foul(word: &[u8], after: &[u8], first: bool) -> bool {
    let next = after.trim_ascii_start().first();
    (first && LOADS.contains(&word))
        || (next == Some(&b'(') && CALLS.contains(&word))
        || (next == Some(&b'.') && MODULES.contains(&word))
}

/// The next word of code outside strings, and what follows it; an empty word at the end of the code.
fn next_word(mut rest: &[u8]) -> Option<(&[u8], &[u8])> {
    loop {
        let (byte, after) = rest.split_first()?;
        match byte {
            b'\'' | b'"' => rest = behind_string(after, *byte)?,
            b'}' | b'%' if after.first() == Some(&b'}') => return Some((&[], after.get(1..)?)),
            byte if is_word(*byte) => {
                let len = rest.iter().take_while(|byte| is_word(**byte)).count();
                return rest.split_at_checked(len);
            }
            _ => rest = after,
        }
    }
}

/// What follows the string whose inside begins here.
fn behind_string(mut rest: &[u8], quote: u8) -> Option<&[u8]> {
    loop {
        let (byte, after) = rest.split_first()?;
        rest = match byte {
            b'\\' => after.get(1..)?,
            byte if *byte == quote => return Some(after),
            _ => after,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ways_out_are_found() {
        for (template, at) in [
            ("{{ ''.__class__ }}", 6),
            ("{% for c in [].__class__.__base__.__subclasses__() %}{% endfor %}", 15),
            ("{{ cycler.__init__.__globals__.os.popen('id').read() }}", 19),
            ("{{ x['__imp' ~ 'ort__'] }}{{ y|attr('a') }}", 31),
            ("{{ f()['__builtins__']['__import__']('o' 's') }}", 8),
            ("{{ x | attr ('z') }}", 7),
            (r"{{ x['\x5f\x5fmro\x5f\x5f'] }}", 6),
            (r"{{ x['\u005f'] }}", 6),
            ("{{ self._TemplateReference__context }}", 8),
            ("{%- import 'other.html' as other %}", 4),
            ("{% from 'x' import y %}", 12),
            ("{% include 'x' %}", 3),
            ("{{ eval('1') }}", 3),
            ("{{ a.os.popen(b) }}", 5),
            ("{{ subprocess.run }}", 3),
            // A text that looks like the start of a comment hides nothing.
            ("{% raw %}{#{% endraw %}{{ x.__mro__ }}", 28),
            ("____class____", 2),
        ] {
            assert_eq!(reaches_out(template.as_bytes()), Some(at), "{template}");
        }
    }

    #[test]
    fn ordinary_templates_pass() {
        for template in [
            "",
            "{",
            "{{",
            "{{ '",
            "{{ 'a\\",
            "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\\n' }}{% endfor %}",
            "{%- set ns = namespace(system='', found=false) -%}{% if not add_generation_prompt is defined %}{% endif %}",
            "{{ raise_exception('Conversation roles must alternate user/assistant/user/assistant/...') }}",
            "{%- for m in messages | selectattr('role', 'equalto', 'user') | map(attribute='content') %}{% endfor %}",
            "{% set system = messages[0].content %}{{ strftime_now('%d %b %Y') }}{{ tools | tojson(indent=4) }}",
            "{{ 'You may import modules; call os.listdir, open(file) or eval(x) in your Python code.' }}",
            "import os\nif __name__ == '__main__': system('x') {# import include eval(x) #}",
            "{{ cost.total }}{{ macos.name }}{{ system }}{% set system_message = x.important %}",
        ] {
            assert_eq!(reaches_out(template.as_bytes()), None, "{template}");
        }
    }
}
