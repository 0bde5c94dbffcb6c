/** Reads from the sources which parameters each statement declares in its type, to compare them with those its SQL uses. */
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { parseSync } from 'oxc-parser'

type Node = { type: string; [key: string]: unknown }

const isNode = (value: unknown): value is Node => typeof value === 'object' && value !== null && 'type' in value

const walk = (value: unknown, visit: (node: Node) => void): void => {
  if (Array.isArray(value)) for (const item of value) walk(item, visit)
  else if (isNode(value)) {
    visit(value)
    for (const child of Object.values(value)) walk(child, visit)
  }
}

type Source = { file: string; body: Node[]; types: Map<string, Node>; imports: Map<string, string> }

const readSource = (file: string): Source => {
  const { program } = parseSync(file, readFileSync(file, 'utf8'))
  const body = program.body as unknown as Node[]
  const types = new Map<string, Node>()
  const imports = new Map<string, string>()
  walk(body, (node) => {
    if (node.type === 'TSTypeAliasDeclaration') types.set((node.id as Node).name as string, node.typeAnnotation as Node)
    if (node.type !== 'ImportDeclaration') return
    const from = (node.source as Node).value as string
    for (const specifier of node.specifiers as Node[]) {
      if (from.startsWith('.')) imports.set((specifier.local as Node).name as string, join(dirname(file), from))
    }
  })
  return { file, body, types, imports }
}

const camel = (name: string): string => name.replace(/_([a-z0-9])/g, (_, next: string) => next.toUpperCase())

/** The columns in `const name = columns({ … })`. */
const columnsNamed = (name: string, source: Source): string[] => {
  let found: string[] | undefined
  walk(source.body, (node) => {
    if (node.type !== 'VariableDeclarator' || (node.id as Node).name !== name) return
    const [table] = (node.init as Node).arguments as [Node]
    found = (table.properties as Node[]).map((property) => (property.key as Node).name as string)
  })
  if (!found) throw new Error(`${source.file}: the columns ${name} were not found`)
  return found
}

/** The names in `'a' | 'b'`, `keyof Row`, `Exclude<keyof Row, 'a'>`, or a name for one of these. */
const namesIn = (type: Node, source: Source): string[] => {
  if (type.type === 'TSUnionType') return (type.types as Node[]).flatMap((one) => namesIn(one, source))
  if (type.type === 'TSLiteralType') return [(type.literal as Node).value as string]
  if (type.type === 'TSTypeOperator') return membersOf(type.typeAnnotation as Node, source)
  const name = (type.typeName as Node).name as string
  if (name !== 'Exclude') return namesIn(source.types.get(name) as Node, source)
  const [all, without] = (type.typeArguments as Node).params as [Node, Node]
  return namesIn(all, source).filter((one) => !namesIn(without, source).includes(one))
}

/** The members of an object type: a literal, an intersection, or a name for either in this file or an imported one. */
const membersOf = (type: Node, source: Source): string[] => {
  if (type.type === 'TSTypeLiteral') {
    return (type.members as Node[]).map((member) => (member.key as Node).name as string)
  }
  if (type.type === 'TSIntersectionType') return (type.types as Node[]).flatMap((part) => membersOf(part, source))
  if (type.type !== 'TSTypeReference') throw new Error(`${source.file}: ${type.type} does not declare parameters`)
  const name = (type.typeName as Node).name as string
  if (name === 'NoParams') return []
  const [whole, names] = ((type.typeArguments as Node | null)?.params ?? []) as [Node, Node]
  if (name === 'Omit') return membersOf(whole, source).filter((member) => !namesIn(names, source).includes(member))
  if (name === 'Given') return namesIn(names, source).map(camel)
  if (name === 'Lists') return membersOf(whole, source)
  if (name === 'RowOf') return columnsNamed((whole.exprName as Node).name as string, source)
  const alias = source.types.get(name)
  if (alias) return membersOf(alias, source)
  const imported = source.imports.get(name)
  if (imported === undefined) throw new Error(`${source.file}: the type ${name} was not found`)
  return membersOf(type, readSource(imported))
}

/** The declared parameters of every statement in the file, by the statement's name. */
export const declaredParams = (file: string): Map<string, string[]> => {
  const source = readSource(file)
  const found = new Map<string, string[]>()
  walk(source.body, (node) => {
    if (node.type !== 'CallExpression' || (node.callee as Node).name !== 'statement') return
    const [name] = node.arguments as Node[]
    const [params] = ((node.typeArguments as Node | null)?.params ?? []) as Node[]
    found.set(name?.value as string, params ? membersOf(params, source) : [])
  })
  return found
}
