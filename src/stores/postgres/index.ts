/**
 * Records in PostgreSQL, and what commits together with them.
 *
 * @module
 */
