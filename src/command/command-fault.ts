/** An error that the user can fix. The message is shown without a stack trace. */
export class Fault extends Error {}
