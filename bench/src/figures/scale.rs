//! From values to places on a sheet.

/// Powers of ten at the same distance from each other.
#[derive(Clone, Copy)]
pub struct Scale {
    /// Logarithms of the values at the ends.
    first: f64,
    last: f64,
    from: f64,
    to: f64,
}

impl Scale {
    /// From `from` to `to` (pixels) there is room for all values and the powers of ten around them; what is not above 0 has no
    /// place.
    pub fn over(values: impl Iterator<Item = f64>, from: f64, to: f64) -> Self {
        let Self { first, last, .. } = Self::between(values, from, to);
        let first = first.floor();
        Self { first, last: last.ceil().max(first + 1.0), from, to }
    }

    /// The least and the largest value are at the ends.
    pub fn between(values: impl Iterator<Item = f64>, from: f64, to: f64) -> Self {
        let logarithms = values.filter(|value| *value > 0.0).map(f64::log10);
        let ends = |ends: Option<(f64, f64)>, one: f64| {
            let (least, most) = ends.unwrap_or((one, one));
            Some((least.min(one), most.max(one)))
        };
        let (first, last) = logarithms.fold(None, ends).unwrap_or((0.0, 1.0));
        Self { first, last, from, to }
    }

    /// Where a value is.
    pub fn at(&self, value: f64) -> f64 {
        let part = (value.log10() - self.first) / (self.last - self.first).max(f64::MIN_POSITIVE);
        self.from + part.clamp(0.0, 1.0) * (self.to - self.from)
    }

    /// The powers of ten and their places.
    pub fn marks(&self) -> impl Iterator<Item = (f64, f64)> + '_ {
        let powers = self.first.ceil() as i32..=self.last.floor() as i32;
        powers.map(|power| 10f64.powi(power)).map(|value| (value, self.at(value)))
    }
}

/// A number in few characters: 2.5, 12, 4,100, 1.2 M.
pub fn short(value: f64) -> String {
    match value {
        v if v >= 999_500.0 => format!("{} M", three_digits(v / 1e6)),
        v if v >= 999.5 => format!("{} k", three_digits(v / 1e3)),
        v => three_digits(v),
    }
}

fn three_digits(value: f64) -> String {
    let decimals = match value {
        v if v >= 99.95 => 0,
        v if v >= 9.995 => 1,
        _ => 2,
    };
    let text = format!("{value:.decimals$}");
    if decimals > 0 { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_lie_between_the_ends() {
        let scale = Scale::over([3.0, 0.0, 700.0].into_iter(), 0.0, 300.0);
        assert_eq!(scale.marks().map(|(value, _)| value).collect::<Vec<_>>(), [1.0, 10.0, 100.0, 1000.0]);
        assert!((scale.at(100.0) - 200.0).abs() < 1e-6);
        assert!(scale.at(0.0).abs() < 1e-6);
    }

    #[test]
    fn numbers_are_short() {
        let numbers = [0.5, 12.0, 99.97, 410_001.0, 1_420_000.0, 999.7].map(short);
        assert_eq!(numbers, ["0.5", "12", "100", "410 k", "1.42 M", "1 k"]);
    }
}
