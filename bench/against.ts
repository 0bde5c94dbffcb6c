/** Makes a bench that measures the contenders of another commit together with those of the present tree. */
import type { Bench, Contender } from './harness.ts'
import { nameIn } from './results.ts'
import type { Tree } from './tree.ts'

type Choice = { only: string[]; against: string | undefined }

const namesOf = (benches: Bench[]): string => benches.map(({ name }) => name).join(', ')

const isComparable = ({ contenders }: Bench): boolean => contenders.some(({ ofTree }) => ofTree)

/** The benches of a run. Throws an error whose message is for the user. */
export const chooseBenches = (benches: Bench[], { only, against }: Choice): Bench[] => {
  const named = benches.filter(({ name }) => only.length === 0 || only.includes(name))
  if (against === undefined) return named
  const refused = only.length === 0 ? [] : named.filter((bench) => !isComparable(bench))
  if (refused.length > 0) {
    throw new Error(
      `--against compares HTTP servers of the service, and these benches have none: ${namesOf(refused)}. ` +
        `Benches that can be compared: ${namesOf(benches.filter(isComparable))}`,
    )
  }
  return named.filter(isComparable)
}

/** The two trees have databases of their own, because their schemas may differ. */
const inTree = (contender: Contender, tree: Tree): Contender => ({
  ...contender,
  name: nameIn(tree.name, contender.name),
  start: (resources) =>
    contender.start({ ...resources, tree, database: (name = '') => resources.database(`${name}-against`) }),
})

/** Contenders without a tree, such as pgbench, are measured once. */
export const comparedWith = (bench: Bench, tree: Tree): Bench => ({
  ...bench,
  against: tree.name,
  contenders: bench.contenders.flatMap((contender) =>
    contender.ofTree ? [contender, inTree(contender, tree)] : [contender],
  ),
})
