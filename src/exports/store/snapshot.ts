/** The transaction of an export. It is as long as its reader is slow, so no statement may time out. */
export const beginSnapshot = `begin isolation level repeatable read, read only;
  set local statement_timeout = 0; set local idle_in_transaction_session_timeout = 0`
