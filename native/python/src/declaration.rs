//! What Python hands over: `tokverify.engine.native.Declaration`.

use crate::NotSupportedError;
use crate::pieces::{Pieces, split};
use pyo3::buffer::PyBuffer;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use std::sync::Arc;
use tokverify_core::spec::{AddedToken, Family, PreTokenization, Spec};
use tokverify_core::vocabulary::Vocabulary;

/// The attributes of the Python object, which documents them. A table that is None is taken from another encoder.
#[derive(FromPyObject)]
pub struct Declaration {
    model: String,
    pieces: Option<Py<Pieces>>,
    displayed: Option<PyBackedBytes>,
    piece_count: usize,
    scores: Option<Scores>,
    types: Option<Types>,
    attributes: PyBackedBytes,
    merges: Option<PyBackedBytes>,
    merge_count: usize,
    charsmap: Option<PyBackedBytes>,
    rules: Vec<String>,
    byte_level: bool,
    ignore_merges: bool,
    newline_pieces: bool,
    unknown_id: Option<u32>,
    added_tokens: Vec<(u32, bool, bool, bool)>,
    prefix: Option<Vec<u32>>,
    suffix: Option<Vec<u32>>,
    add_space_prefix: bool,
    prefixes_space: bool,
    escape_whitespaces: bool,
    escapes_in_encoder: bool,
    remove_extra_whitespaces: bool,
    clean_spaces: bool,
    lowercase: bool,
    strip_accents: bool,
    nfc: bool,
    in_background: bool,
}

/// Scores, in an array of 32-bit or 64-bit floating-point numbers.
struct Scores(Arc<[f64]>);

impl<'py> FromPyObject<'_, 'py> for Scores {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        if object.len()? == 0 {
            return Ok(Self(Arc::default())); // Python places empty arrays at addresses that are not aligned
        }
        Ok(Self(match PyBuffer::<f32>::get(&object) {
            Ok(single) => single.to_vec(object.py())?.into_iter().map(f64::from).collect(),
            Err(_) => PyBuffer::<f64>::get(&object)?.to_vec(object.py())?.into(),
        }))
    }
}

/// Types, in an array of 32-bit integers; one that no model depends on becomes 0.
struct Types(Arc<[u8]>);

impl<'py> FromPyObject<'_, 'py> for Types {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        if object.len()? == 0 {
            return Ok(Self(Arc::default()));
        }
        let numbers = PyBuffer::<i32>::get(&object)?.to_vec(object.py())?;
        Ok(Self(numbers.into_iter().map(|number| u8::try_from(number).unwrap_or(0)).collect()))
    }
}

impl Declaration {
    /// Build the tables, except for those that are left out.
    ///
    /// The engine relies on counts and ids, so a declaration that contradicts itself is a `ValueError`.
    pub fn into_spec(self, previous: Option<&Spec>) -> PyResult<Spec> {
        let unsupported = || NotSupportedError::new_err("does not support this tokenizer family");
        let family = Family::from_name(&self.model).ok_or_else(unsupported)?;
        let count = self.piece_count;
        let pieces = self.pieces.as_ref().map(|pieces| pieces.get().0.clone());
        let vocabulary = table(pieces, previous, |spec| &spec.vocabulary)?;
        let displayed = match self.displayed {
            Some(joined) => Arc::new(Vocabulary::new(split(&joined, count)?)),
            None => vocabulary.clone(),
        };
        let merges = self.merges.map(|joined| split(&joined, self.merge_count).map(Arc::new)).transpose()?;
        let scores = table(self.scores.map(|scores| scores.0), previous, |spec| &spec.scores)?;
        let types = table(self.types.map(|types| types.0), previous, |spec| &spec.types)?;
        require(vocabulary.len() == count, "the pieces are not as many as `piece_count`")?;
        require(self.attributes.len() == count, "the attributes are not as many as `piece_count`")?;
        require([0, count].contains(&scores.len()), "the scores are not as many as `piece_count`")?;
        require([0, count].contains(&types.len()), "the types are not as many as `piece_count`")?;
        let added = self.added_tokens.iter().map(|token| &token.0);
        let mut ids = self.unknown_id.iter().chain(added).chain(self.prefix.iter().chain(&self.suffix).flatten());
        require(ids.all(|&id| (id as usize) < count), "an id is outside the vocabulary")?;
        Ok(Spec {
            family,
            displayed,
            vocabulary,
            scores,
            types,
            attributes: Arc::from(&*self.attributes),
            merges: table(merges, previous, |spec| &spec.merges)?,
            charsmap: table(self.charsmap.map(|bytes| Arc::from(&*bytes)), previous, |spec| &spec.charsmap)?,
            pre_tokenizer: PreTokenization {
                rules: self.rules,
                byte_level: self.byte_level,
                ignore_merges: self.ignore_merges,
                newline_pieces: self.newline_pieces,
            },
            unknown_id: self.unknown_id,
            added_tokens: self.added_tokens.into_iter().map(added_token).collect(),
            prefix: self.prefix,
            suffix: self.suffix,
            add_space_prefix: self.add_space_prefix,
            prefixes_space: self.prefixes_space,
            escape_whitespaces: self.escape_whitespaces,
            escapes_in_encoder: self.escapes_in_encoder,
            remove_extra_whitespaces: self.remove_extra_whitespaces,
            clean_spaces: self.clean_spaces,
            lowercase: self.lowercase,
            strip_accents: self.strip_accents,
            nfc: self.nfc,
            in_background: self.in_background,
        })
    }
}

fn table<Table: ?Sized>(
    given: Option<Arc<Table>>,
    previous: Option<&Spec>,
    choose: fn(&Spec) -> &Arc<Table>,
) -> PyResult<Arc<Table>> {
    let missing = || PyValueError::new_err("only an encoder based on another one leaves out tables");
    given.or_else(|| previous.map(|spec| choose(spec).clone())).ok_or_else(missing)
}

fn require(holds: bool, problem: &'static str) -> PyResult<()> {
    holds.then_some(()).ok_or_else(|| PyValueError::new_err(problem))
}

fn added_token((id, special, lstrip, rstrip): (u32, bool, bool, bool)) -> AddedToken {
    AddedToken { id, special, lstrip, rstrip }
}
