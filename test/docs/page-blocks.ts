/** The fenced blocks of the pages of the documentation. */
import { readdir, readFile } from 'node:fs/promises'

const root = new URL('../../', import.meta.url)

export type Block = {
  /** Where the block begins, for messages. */
  line: number
  /** The commands of a block `sh`. */
  commands: string
  /** The content of the block `json` that follows, with nothing in between: what the last command prints. */
  shown: string | undefined
}

export type Page = { path: string; text: string; blocks: Block[] }

/** What the reader takes from the first start. A test has values of its own. */
export const ownValues = ['BASE_URL', 'API_KEY', 'TEST_API_KEY', 'ORG_ID']
const ownLines = new RegExp(`^(?:${ownValues.join('|')})=\\S*$`, 'gm')

export const blocksIn = (text: string): Block[] =>
  [...text.matchAll(/^```sh\n([\s\S]*?)^```$(?:\n\n```json\n([\s\S]*?)^```$)?/gm)].map(
    ({ index, 1: commands, 2: shown }) => ({
      line: text.slice(0, index).split('\n').length,
      commands: (commands as string).replace(ownLines, '').trim(),
      shown,
    }),
  )

export const readPages = async (): Promise<Page[]> => {
  const names = await readdir(new URL('docs/', root))
  const paths = ['README.md', ...names.filter((name) => name.endsWith('.md')).map((name) => `docs/${name}`)]
  return Promise.all(
    paths.toSorted().map(async (path) => {
      const text = await readFile(new URL(path, root), 'utf8')
      return { path, text, blocks: blocksIn(text).filter(({ commands }) => commands !== '') }
    }),
  )
}
