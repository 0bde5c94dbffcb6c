/**
 * The transaction of an export. It is as long as its reader is slow, so no statement may time out. Messages are locked
 * against retention before the snapshot is taken, because a month that is emptied afterwards would look empty in it.
 */
export const beginSnapshot = `begin isolation level repeatable read, read only;
  set local statement_timeout = 0; set local idle_in_transaction_session_timeout = 0;
  lock table messages in access share mode`
