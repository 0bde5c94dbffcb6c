/** Something a person can mend, told in one line and without a stack. */
export class Fault extends Error {}
