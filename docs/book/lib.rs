//! The book: its chapters are in `src`, for mdBook (`mdbook serve docs/book`) and for whoever reads Markdown. Their programs are the
//! documentation tests of this crate.

/// Each chapter as documentation.
macro_rules! chapters {
    ($($module:ident $file:literal)*) => {
        $(
            #[cfg(doctest)]
            #[doc = include_str!(concat!("src/", $file))]
            mod $module {}
        )*

        /// The files whose programs are tested.
        #[cfg(test)]
        const FILES: &[&str] = &[$($file),*];
    };
}

chapters! {
    introduction "introduction.md"
    first_kernel "first-kernel.md"
    arrays "arrays.md"
    loops "loops.md"
    sizes "sizes.md"
    derivatives "derivatives.md"
    inside "inside.md"
    generic "generic.md"
    complex "complex.md"
    records "records.md"
    rules "rules.md"
    library "library.md"
    programs "programs.md"
    gallery "gallery.md"
    other_crates "other-crates.md"
    gpu "gpu.md"
    performance "performance.md"
    errors "errors.md"
    codes "codes.md"
    from_jax "from-jax.md"
    from_ndarray "from-ndarray.md"
    from_shaders "from-shaders.md"
    how "how-it-works.md"
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fs;
    use std::path::Path;

    use super::FILES;

    /// A chapter that the list above lacks would not be tested, one that the summary lacks not be found.
    #[test]
    fn all_chapters_are_tested_and_listed() {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
        let summary = fs::read_to_string(source.join("SUMMARY.md")).expect("the summary");
        let listed = summary.split("](").skip(1).filter_map(|rest| rest.split(')').next());
        let listed: BTreeSet<String> = listed.map(String::from).collect();
        let entries = fs::read_dir(&source).expect("the chapters").map(|e| e.expect("an entry").file_name());
        let mut there: BTreeSet<String> = entries.map(|name| name.to_string_lossy().into_owned()).collect();
        there.remove("SUMMARY.md");
        assert_eq!(listed, there);
        assert_eq!(listed, FILES.iter().map(ToString::to_string).collect());
    }

    /// The README names the oldest Rust that the crates say they need.
    #[test]
    fn the_readme_names_the_oldest_rust() {
        let readme = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../README.md"))
            .expect("the README");
        assert!(readme.contains(&format!("stable Rust ({} or later)", env!("CARGO_PKG_RUST_VERSION"))));
    }

    /// Links within the book and into the repository lead to files.
    #[test]
    fn links_lead_somewhere() {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
        for file in FILES {
            let text = fs::read_to_string(source.join(file)).expect("a chapter");
            for link in text.split("](").skip(1).filter_map(|rest| rest.split([')', '#']).next()) {
                let is_file = link.ends_with(".md") && !link.contains("://");
                assert!(!is_file || source.join(link).is_file(), "{file}: {link}");
            }
        }
    }
}
