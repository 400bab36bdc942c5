//! Lines, rectangles and texts as SVG.

use std::fmt::Write;

/// A drawing under way. Lengths are pixels.
pub struct Svg {
    out: String,
    width: f64,
    height: f64,
}

/// Where a text is fixed.
#[derive(Clone, Copy)]
pub enum Anchor {
    Start,
    Middle,
    End,
}

impl Svg {
    /// A white sheet.
    pub fn new(width: f64, height: f64) -> Self {
        Self { out: String::new(), width, height }
    }

    /// Text at 12 px, dark.
    pub fn text(&mut self, (x, y): (f64, f64), anchor: Anchor, text: &str) {
        self.styled(x, y, anchor, "", text);
    }

    /// The same in bold.
    pub fn title(&mut self, (x, y): (f64, f64), text: &str) {
        self.styled(x, y, Anchor::Start, " font-weight=\"bold\"", text);
    }

    fn styled(&mut self, x: f64, y: f64, anchor: Anchor, style: &str, text: &str) {
        let anchor = match anchor {
            Anchor::Start => "start",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        };
        let text = text.replace('&', "&amp;").replace('<', "&lt;");
        let _ = writeln!(self.out, "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\"{style}>{text}</text>");
    }

    /// A thin line of an axis or a grid.
    pub fn rule(&mut self, (x1, y1): (f64, f64), (x2, y2): (f64, f64)) {
        let _ = writeln!(self.out, "<path d=\"M{x1:.1} {y1:.1}L{x2:.1} {y2:.1}\" stroke=\"#d0d4da\" fill=\"none\"/>");
    }

    /// A filled rectangle.
    pub fn bar(&mut self, (x, y): (f64, f64), (width, height): (f64, f64), color: &str) {
        let _ = writeln!(
            self.out,
            "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" fill=\"{color}\"/>"
        );
    }

    /// A line through points, each marked.
    pub fn curve(&mut self, points: &[(f64, f64)], color: &str) {
        let mut path = String::new();
        for (i, (x, y)) in points.iter().enumerate() {
            let _ = write!(path, "{}{x:.1} {y:.1}", if i == 0 { 'M' } else { 'L' });
            let _ = writeln!(self.out, "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3\" fill=\"{color}\"/>");
        }
        let _ = writeln!(self.out, "<path d=\"{path}\" stroke=\"{color}\" stroke-width=\"2\" fill=\"none\"/>");
    }

    /// The whole file.
    pub fn finish(self) -> String {
        let Self { out, width, height } = self;
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" \
             viewBox=\"0 0 {width:.0} {height:.0}\" font-family=\"sans-serif\" font-size=\"12\" fill=\"#22262b\">\n\
             <rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n{out}</svg>\n"
        )
    }
}
