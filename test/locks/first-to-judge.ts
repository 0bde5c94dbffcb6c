/** A run that measures nothing must not look like one that found nothing. */
export class NothingToJudge extends Error {
  constructor(reason: string) {
    super(`Nothing to judge: ${reason}`)
  }
}

/** The position of the first migration since a release. `earlier` and `present` are numbers of migrations. */
export const firstToJudge = (commit: string, earlier: number, present: number): number => {
  if (earlier < present) return earlier
  throw new NothingToJudge(
    `there is no migration since ${commit}. Write one first, or name an earlier commit with --since.`,
  )
}
