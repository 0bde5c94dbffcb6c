/** Addresses as a send reads and compares them; kept on the ground, since the list of suppressions reads them alike. */
export { comparable, domainPart, parseAddress } from '../../ground/mailbox.ts'
