/** A notification is not proven to come from our provider. The reason is for the log, not for the sender. */
export class SignatureFault extends Error {
  override name = 'SignatureFault'
}
