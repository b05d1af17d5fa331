//! Reading inputs: the fields of an object by name, so that what is wrong with one can be said with its name.

use ndarray::{Array, Array1, Array2, Array3, Dimension, ShapeError};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::Error;

/// The fields of an object. Those that nobody takes are ignored.
pub struct Fields {
    /// What the names of its fields begin with.
    prefix: String,
    map: Map<String, Value>,
}

impl Fields {
    /// The fields of an input.
    ///
    /// # Errors
    /// It may not be an object.
    pub fn of(input: Value) -> Result<Self, Error> {
        match input {
            Value::Object(map) => Ok(Self { prefix: String::new(), map }),
            _ => Err(Error::NotAnObject("the input".into())),
        }
    }

    /// The name of a field, with those of what it is in.
    #[must_use]
    pub fn name(&self, field: &str) -> String {
        format!("{}{field}", self.prefix)
    }

    /// The fields of a field.
    ///
    /// # Errors
    /// It may be missing, or no object.
    pub fn inner(&mut self, field: &str) -> Result<Self, Error> {
        let name = self.name(field);
        match self.map.remove(field) {
            Some(Value::Object(map)) => Ok(Self { prefix: name + ".", map }),
            Some(_) => Err(Error::NotAnObject(format!("field `{name}`"))),
            None => Err(Error::Missing(name)),
        }
    }

    /// The value of a field.
    ///
    /// # Errors
    /// It may be missing, or have another type.
    pub fn take<T: DeserializeOwned>(&mut self, field: &str) -> Result<T, Error> {
        let value = self.map.remove(field).ok_or_else(|| Error::Missing(self.name(field)))?;
        serde_json::from_value(value).map_err(|source| Error::Type { field: self.name(field), source })
    }

    /// A vector.
    ///
    /// # Errors
    /// It may be missing, or no list of numbers.
    pub fn vector(&mut self, field: &str) -> Result<Array1<f64>, Error> {
        self.take::<Vec<f64>>(field).map(Array1::from)
    }

    /// A vector of so many numbers.
    ///
    /// # Errors
    /// It may be missing, no list of numbers, or have another length.
    pub fn vector_of(&mut self, field: &str, length: usize) -> Result<Array1<f64>, Error> {
        let vector = self.vector(field)?;
        self.same(field, vector.len(), length)?;
        Ok(vector)
    }

    /// A matrix, which is a list of rows.
    ///
    /// # Errors
    /// It may be missing, no list of lists of numbers, or have rows of different lengths.
    pub fn matrix<T: DeserializeOwned>(&mut self, field: &str) -> Result<Array2<T>, Error> {
        let rows: Vec<Vec<T>> = self.take(field)?;
        let shape = (rows.len(), rows.first().map_or(0, Vec::len));
        for (i, row) in rows.iter().enumerate() {
            self.same(&format!("{field}[{i}]"), row.len(), shape.1)?;
        }
        self.shaped(field, Array2::from_shape_vec(shape, rows.into_iter().flatten().collect()))
    }

    /// A matrix of this shape; one without rows has any number of columns.
    ///
    /// # Errors
    /// As [`Fields::matrix`], and it may have another shape.
    pub fn matrix_of<T: DeserializeOwned>(
        &mut self,
        field: &str,
        shape: (usize, usize),
    ) -> Result<Array2<T>, Error> {
        let matrix = self.matrix(field)?;
        self.matrix_of_shape(field, matrix, shape)
    }

    /// A matrix that was read, if it has this shape; one without rows has any number of columns.
    ///
    /// # Errors
    /// It may have another shape.
    pub fn matrix_of_shape<T>(
        &self,
        field: &str,
        matrix: Array2<T>,
        shape: (usize, usize),
    ) -> Result<Array2<T>, Error> {
        self.same(field, matrix.nrows(), shape.0)?;
        if shape.0 > 0 {
            self.same(&format!("{field}[0]"), matrix.ncols(), shape.1)?;
        }
        self.shaped(field, matrix.into_shape_with_order(shape))
    }

    /// So many matrices of this shape.
    ///
    /// # Errors
    /// It may be missing, no list of lists of lists of numbers, or have another shape.
    pub fn matrices_of(
        &mut self,
        field: &str,
        (count, rows, columns): (usize, usize, usize),
    ) -> Result<Array3<f64>, Error> {
        let matrices: Vec<Vec<Vec<f64>>> = self.take(field)?;
        self.same(field, matrices.len(), count)?;
        for (i, matrix) in matrices.iter().enumerate() {
            self.same(&format!("{field}[{i}]"), matrix.len(), rows)?;
            for (j, row) in matrix.iter().enumerate() {
                self.same(&format!("{field}[{i}][{j}]"), row.len(), columns)?;
            }
        }
        let numbers = matrices.into_iter().flatten().flatten().collect();
        self.shaped(field, Array3::from_shape_vec((count, rows, columns), numbers))
    }

    /// A number of things, of which there must be one.
    ///
    /// # Errors
    /// It may be missing, no integer, or zero.
    pub fn positive<T>(&mut self, field: &str) -> Result<T, Error>
    where
        T: DeserializeOwned + Default + PartialOrd + ToString,
    {
        let number: T = self.take(field)?;
        if number <= T::default() { Err(self.wrong(field, &number, "at least 1")) } else { Ok(number) }
    }

    /// That a field has this length.
    ///
    /// # Errors
    /// It has not.
    pub fn same(&self, field: &str, found: usize, expected: usize) -> Result<(), Error> {
        if found == expected {
            Ok(())
        } else {
            Err(Error::Length { field: self.name(field), found, expected })
        }
    }

    /// That a field has a value that is none of those expected.
    #[must_use]
    pub fn wrong(&self, field: &str, found: &impl ToString, expected: &'static str) -> Error {
        Error::Value { field: self.name(field), found: found.to_string(), expected }
    }

    /// An array whose shape is checked already, so that only an overflow is left.
    ///
    /// # Errors
    /// There is no such array.
    pub fn shaped<T, D: Dimension>(
        &self,
        field: &str,
        array: Result<Array<T, D>, ShapeError>,
    ) -> Result<Array<T, D>, Error> {
        array.map_err(|error| self.wrong(field, &error, "a shape that memory can have"))
    }
}
