//! The tables of the workload, read and written through redb.

use crate::contents::{Contents, SAVED, TABLES, decode, encode};
use redb::{
    Error, ReadTransaction, ReadableTable, StorageError, TableDefinition, TableError, WriteTransaction,
};

type Definition = TableDefinition<'static, u32, &'static [u8]>;

const DEFINITIONS: [Definition; TABLES] = [Definition::new("a"), Definition::new("b"), Definition::new("c")];

/// Writes a number; `bytes` is room for its value.
pub(crate) fn insert(
    txn: &WriteTransaction,
    (table, key): (usize, usize),
    number: u32,
    bytes: &mut Vec<u8>,
) -> Result<(), Error> {
    encode(number, bytes);
    txn.open_table(DEFINITIONS[table])?.insert(key as u32, bytes.as_slice())?;
    Ok(())
}

/// Removes an entry, and returns the number that stood there, 0 if none.
pub(crate) fn remove(
    txn: &WriteTransaction,
    (table, key): (usize, usize),
    bytes: &mut Vec<u8>,
) -> Result<u32, Error> {
    let mut table = txn.open_table(DEFINITIONS[table])?;
    let removed = table.remove(key as u32)?;
    Ok(removed.map_or(0, |value| decode(value.value(), bytes)))
}

/// Deletes a whole table.
pub(crate) fn delete(txn: &WriteTransaction, table: usize) -> Result<(), Error> {
    txn.delete_table(DEFINITIONS[table])?;
    Ok(())
}

/// What a read transaction sees.
pub(crate) fn read(txn: &ReadTransaction, bytes: &mut Vec<u8>) -> Result<Contents, Error> {
    let mut contents = Contents::default();
    for (definition, row) in DEFINITIONS.into_iter().zip(&mut contents) {
        match txn.open_table(definition) {
            Ok(table) => collect(&table, row, bytes)?,
            Err(TableError::TableDoesNotExist(_)) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(contents)
}

/// What a write transaction sees. It makes tables that are not there, without entries.
pub(crate) fn read_writing(txn: &WriteTransaction, bytes: &mut Vec<u8>) -> Result<Contents, Error> {
    let mut contents = Contents::default();
    for (definition, row) in DEFINITIONS.into_iter().zip(&mut contents) {
        collect(&txn.open_table(definition)?, row, bytes)?;
    }
    Ok(contents)
}

/// The persistent savepoints that a write transaction sees, as a state has them.
pub(crate) fn saved(txn: &WriteTransaction) -> Result<[u64; SAVED], Error> {
    let mut saved = [0; SAVED];
    for (at, id) in txn.list_persistent_savepoints()?.enumerate() {
        *saved.get_mut(at).ok_or_else(|| corrupted("more savepoints than were made"))? = id + 1;
    }
    Ok(saved)
}

fn collect(
    table: &impl ReadableTable<u32, &'static [u8]>,
    row: &mut [u32],
    bytes: &mut Vec<u8>,
) -> Result<(), Error> {
    for (count, entry) in table.iter()?.enumerate() {
        let (key, value) = entry?;
        // A tree that runs into itself has no end.
        if count >= row.len() {
            return Err(corrupted("more entries than keys"));
        }
        let place = row.get_mut(key.value() as usize).ok_or_else(|| corrupted("a key that nobody wrote"))?;
        *place = decode(value.value(), bytes);
    }
    Ok(())
}

/// An error for what redb returned without one.
pub(crate) fn corrupted(text: &str) -> Error {
    StorageError::Corrupted(text.to_owned()).into()
}
