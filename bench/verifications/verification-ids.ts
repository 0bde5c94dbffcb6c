/** Ids of verifications that differ in their last twelve digits, which the load generator counts up. */
export const idStart = `ver_${'0'.repeat(14)}`
