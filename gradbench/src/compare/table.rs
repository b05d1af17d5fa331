//! The tables of a comparison, in Markdown.

use std::fmt::Write;

/// How long a tool took, in nanoseconds, for the value and for the derivative.
#[derive(Clone, Copy, Debug, Default)]
pub struct Times {
    /// The value.
    pub value: Option<f64>,
    /// The derivative.
    pub derivative: Option<f64>,
}

/// A workload.
#[derive(Debug)]
pub struct Row {
    /// The problem.
    pub problem: &'static str,
    /// The workload's name.
    pub workload: String,
    /// How long each tool took; the first one is ours.
    pub times: Vec<Times>,
    /// The greatest difference of an output from ours, if there is another one.
    pub difference: Option<f64>,
}

/// How much memory each tool held at most while it worked on a problem.
#[derive(Debug)]
pub struct Peak {
    /// The problem.
    pub problem: &'static str,
    /// In kilobytes, for each tool.
    pub kilobytes: Vec<Option<u64>>,
}

/// The middle number, or the mean of the two middle ones; nothing has none.
#[must_use]
pub fn median(numbers: &[u64]) -> Option<f64> {
    let mut sorted = numbers.to_vec();
    sorted.sort_unstable();
    let (low, high) = (sorted.get(sorted.len().checked_sub(1)? / 2)?, sorted.get(sorted.len() / 2)?);
    Some((*low as f64 + *high as f64) / 2.0)
}

impl Row {
    /// How many times as long the fastest other derivative takes as ours.
    #[must_use]
    pub fn ratio(&self) -> Option<f64> {
        let (ours, others) = self.times.split_first()?;
        let fastest = others.iter().filter_map(|t| t.derivative).min_by(f64::total_cmp)?;
        ours.derivative.map(|ours| fastest / ours)
    }

    /// How many times as long our derivative takes as our value.
    #[must_use]
    pub fn overhead(&self) -> Option<f64> {
        let ours = self.times.first()?;
        Some(ours.derivative? / ours.value?)
    }
}

/// A number with three digits that count.
fn digits(x: f64) -> String {
    let places = if x >= 99.95 {
        0
    } else if x >= 9.995 {
        1
    } else if x >= 0.9995 {
        2
    } else if x >= 0.09995 {
        3
    } else {
        4
    };
    format!("{x:.places$}")
}

fn or_dash(x: Option<f64>, text: impl Fn(f64) -> String) -> String {
    x.map_or_else(|| "-".into(), text)
}

/// A line of a table.
fn line(cells: impl IntoIterator<Item = String>) -> String {
    cells.into_iter().fold(String::from("|"), |mut line, cell| {
        // Writing to a string does not fail.
        let _ = write!(line, " {cell} |");
        line
    }) + "\n"
}

fn head(names: Vec<String>, left: usize) -> String {
    let rules = (0..names.len()).map(|i| if i < left { "---".into() } else { "---:".into() });
    line(names.clone()) + &line(rules)
}

/// Times in milliseconds, medians of the runs, and what follows from them.
#[must_use]
pub fn times(tools: &[&str], rows: &[Row]) -> String {
    let mut names = vec!["problem".to_owned(), "workload".into()];
    names.extend(tools.iter().flat_map(|tool| [format!("{tool} value ms"), format!("{tool} derivative ms")]));
    let ours = tools.first().copied().unwrap_or_default();
    names.extend([
        format!("fastest other derivative / {ours}'s"),
        format!("{ours} derivative / value"),
        "greatest difference".into(),
    ]);
    let mut text = head(names, 2);
    for row in rows {
        let milliseconds = |x: Option<f64>| or_dash(x.map(|x| x / 1e6), digits);
        let mut cells = vec![row.problem.to_owned(), row.workload.clone()];
        cells.extend(row.times.iter().flat_map(|t| [milliseconds(t.value), milliseconds(t.derivative)]));
        cells.extend([or_dash(row.ratio(), digits), or_dash(row.overhead(), digits)]);
        cells.push(or_dash(row.difference, |d| format!("{d:.0e}")));
        text += &line(cells);
    }
    text
}

/// Memory in mebibytes.
#[must_use]
pub fn memory(tools: &[&str], peaks: &[Peak]) -> String {
    let mut names = vec!["problem".to_owned()];
    names.extend(tools.iter().map(|tool| format!("{tool} peak MiB")));
    let mut text = head(names, 1);
    for peak in peaks {
        let of_tools = peak.kilobytes.iter().map(|k| or_dash(k.map(|k| k as f64 / 1024.0), digits));
        text += &line(std::iter::once(peak.problem.to_owned()).chain(of_tools));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians() {
        assert_eq!(median(&[]), None);
        assert_eq!(median(&[5]), Some(5.0));
        assert_eq!(median(&[9, 1, 4]), Some(4.0));
        assert_eq!(median(&[9, 1, 4, 7]), Some(5.5));
    }

    #[test]
    fn tables() {
        let of = |value, derivative| Times { value, derivative };
        let rows = [
            Row {
                problem: "lse",
                workload: "n=3".into(),
                times: vec![of(Some(2e6), Some(5e6)), of(Some(1e8), Some(1.25e7)), of(None, None)],
                difference: Some(2e-15),
            },
            Row {
                problem: "ode",
                workload: "n=1,s=1".into(),
                times: vec![Times::default(); 3],
                difference: None,
            },
        ];
        let expected = "\
| problem | workload | us value ms | us derivative ms | a value ms | a derivative ms | b value ms | b derivative ms \
| fastest other derivative / us's | us derivative / value | greatest difference |
| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |
| lse | n=3 | 2.00 | 5.00 | 100 | 12.5 | - | - | 2.50 | 2.50 | 2e-15 |
| ode | n=1,s=1 | - | - | - | - | - | - | - | - | - |
";
        assert_eq!(times(&["us", "a", "b"], &rows), expected);
        let peaks = [Peak { problem: "lse", kilobytes: vec![Some(2048), None] }];
        assert_eq!(
            memory(&["us", "a"], &peaks),
            "| problem | us peak MiB | a peak MiB |\n| --- | ---: | ---: |\n| lse | 2.00 | - |\n"
        );
    }

    #[test]
    fn three_digits() {
        for (x, text) in
            [(1234.5, "1234"), (99.96, "100"), (12.34, "12.3"), (0.99951, "1.00"), (0.01234, "0.0123")]
        {
            assert_eq!(digits(x), text);
        }
    }
}
