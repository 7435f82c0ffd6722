//! The Python module `tokverify._native`: a thin layer over `tokverify-core`.

use pyo3::prelude::*;

/// The compiled engine of tokverify.
#[pymodule]
mod _native {}
