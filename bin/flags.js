/**
 * Node flags of the service: a young generation that is large enough for the requests in progress, and no pretenuring.
 * With pretenuring, V8 allocates some objects of a request in the old generation, where they keep alive every object that
 * they reference: see docs/decisions/0017. The old generation is collected once it has grown by a third; V8 would let it
 * grow by more than 100 MB first. With `gc`, a start frees what it no longer needs. They are stated here only: tidings.js
 * starts the service with them.
 */
export const serviceFlags = [
  '--max-semi-space-size=32',
  '--no-allocation-site-pretenuring',
  '--heap-growing-percent=30',
  '--expose-gc',
]
