// Package store keeps what the server must not lose: rows in transactions, blobs by
// their content, and wake-ups that outlive the process.
//
// One model runs on two databases. SQLite in a folder is for one process: the folder is
// locked, one connection writes, others read. PostgreSQL is for several nodes, which
// share the rows, the blobs and the work. Every transaction of Write is serializable on
// both, so that an engine is written, and tested, once.
//
// A wake-up runs a worker for a kind and an id at a time. It is a row of the table wakeups and
// commits or rolls back with the rows that it is about; each node claims due wake-ups for its
// free workers. Delivery is at least once: workers change the state of record by
// compare-and-set on row versions. docs/decisions/0007, 0008 and 0014 explain the design.
//
// Statements are SQL that both databases understand, with a ? for each value. Get, List and Query read rows into
// structures, whose tags name columns (see Row); Insert, Update, Swap and Save write them. A field with a tag seal is
// encrypted in the database. docs/decisions/0038 explains the layer.
//
// The package does not use tables of other packages. Each of them owns its rows and its
// migration files, which are in migrations/ so that they are applied in one order.
package store
