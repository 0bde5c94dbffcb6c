/** An error that the operator can fix. Its message says how, and is printed without a stack trace. */
export class OperatorFault extends Error {
  override name = 'OperatorFault'
}
