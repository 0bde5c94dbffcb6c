/**
 * Compiles a Zod schema into a function that reads valid input quickly. The function handles the common cases and
 * returns `undecided` for everything else: invalid input, and schemas that it does not know. The schema itself decides
 * those. So a field is described once, and only valid input takes the short way.
 */
import type { z } from 'zod'
import { type Check, checkDefOf, defOf, mayBeAbsent, passesCheck, type Schema } from './zod-internals.ts'

export const undecided: unique symbol = Symbol('undecided')

type Read<T = unknown> = (input: unknown) => T | typeof undecided

const leaveToSchema: Read = () => undecided

/** Set by code of the schemas that reports an issue while the compiled function runs. */
let issueReported = false

/** What transforms and refinements get as their context. */
const context = {
  value: undefined as unknown,
  issues: [],
  addIssue: () => {
    issueReported = true
  },
}

/** Whether the value passes; undefined for a check that may change the value or that is not known here. */
const compileCheck = (check: Check): ((value: never) => boolean) | undefined => {
  const def = checkDefOf(check)
  switch (def.check) {
    case 'max_length':
      return ({ length }: { length: number }) => length <= def.maximum
    case 'min_length':
      return ({ length }: { length: number }) => length >= def.minimum
    case 'string_format': {
      const { pattern } = def as { pattern?: RegExp }
      return pattern && !pattern.global && def.format === 'regex' ? (text: string) => pattern.test(text) : undefined
    }
    case 'custom':
      // A refinement that reports issues through its context has no function of its own.
      return 'fn' in def ? (value: never) => def.fn(value) === true : (value) => passesCheck(check, value)
    default:
      return undefined
  }
}

const compileChecks = (checks: readonly Check[] | undefined): ((value: never) => boolean) | undefined => {
  const compiled = (checks ?? []).map(compileCheck)
  if (compiled.some((check) => check === undefined)) return undefined
  const [first, second, ...more] = compiled as ((value: never) => boolean)[]
  if (!first) return () => true
  if (!second) return first
  return (value) => first(value) && second(value) && more.every((check) => check(value))
}

const readString = (passes: (value: never) => boolean): Read => {
  return (input) => (typeof input === 'string' && passes(input as never) ? input : undecided)
}

const readArray = (element: Read, passes: (value: never) => boolean): Read => {
  return (input) => {
    // The length is checked first, so that a list that is too long costs nothing.
    if (!Array.isArray(input) || !passes(input as never)) return undecided
    const read: unknown[] = new Array(input.length)
    for (let i = 0; i < input.length; i++) {
      const value = element(input[i])
      if (value === undecided) return undecided
      read[i] = value
    }
    return read
  }
}

const isObject = (input: unknown): input is Record<string, unknown> =>
  typeof input === 'object' && input !== null && !Array.isArray(input)

type Field = { key: string; read: Read; required: boolean }

/**
 * Written out as code, because V8 handles an object literal and named properties much faster than a loop over names.
 * A field without a value is left out, as the schema leaves it out.
 */
const readFields = (fields: Field[]): ((input: Record<string, unknown>) => unknown) => {
  const names = fields.map(({ key }) => JSON.stringify(key))
  const required = [...fields.keys()].filter((i) => fields[i]?.required)
  const optional = [...fields.keys()].filter((i) => !fields[i]?.required)
  const code = `return (input) => {
    ${names.map((name, i) => `const v${i} = read[${i}](input[${name}]); if (v${i} === undecided) return undecided`).join('\n')}
    ${required.map((i) => `if (v${i} === undefined) return undecided`).join('\n')}
    const output = { ${required.map((i) => `${names[i]}: v${i}`).join(', ')} }
    ${optional.map((i) => `if (v${i} !== undefined) output[${names[i]}] = v${i}`).join('\n')}
    return output
  }`
  return new Function('read', 'undecided', code)(
    fields.map(({ read }) => read),
    undecided,
  )
}

const readObject = (fields: Field[], strict: boolean, passes: (value: never) => boolean): Read => {
  const known = new Set(fields.map(({ key }) => key))
  const read = readFields(fields)
  return (input) => {
    if (!isObject(input)) return undecided
    if (strict) for (const key in input) if (!known.has(key)) return undecided
    const output = read(input)
    return output === undecided || passes(output as never) ? output : undecided
  }
}

const readRecord = (key: Read, value: Read, passes: (value: never) => boolean): Read => {
  return (input) => {
    if (!isObject(input)) return undecided
    const read: Record<string, unknown> = {}
    for (const name of Object.keys(input)) {
      const found = value(input[name])
      if (name === '__proto__' || key(name) !== name || found === undecided) return undecided
      read[name] = found
    }
    return passes(read as never) ? read : undecided
  }
}

const readTransform = (transform: (value: unknown, context: never) => unknown): Read => {
  return (input) => {
    issueReported = false
    context.value = input
    const output = transform(input, context as never)
    return issueReported || output instanceof Promise ? undecided : output
  }
}

const compile = (schema: Schema): Read => {
  const def = defOf(schema)
  const passes = compileChecks(def.checks)
  if (!passes) return leaveToSchema
  switch (def.type) {
    case 'string':
      return 'format' in def || def.coerce ? leaveToSchema : readString(passes)
    case 'boolean':
      return def.coerce ? leaveToSchema : (input) => (typeof input === 'boolean' ? input : undecided)
    case 'unknown':
      return (input) => input
    case 'enum': {
      const values = new Set<unknown>(Object.values(def.entries))
      return (input) => (values.has(input) ? input : undecided)
    }
    case 'array':
      return readArray(compile(def.element), passes)
    case 'object': {
      const strict = def.catchall !== undefined
      const fields = Object.entries(def.shape).map(([key, field]) => ({
        key,
        read: compile(field),
        required: !mayBeAbsent(field),
      }))
      return readObject(fields, strict, passes)
    }
    case 'record':
      return readRecord(compile(def.keyType), compile(def.valueType), passes)
    case 'optional': {
      const inner = compile(def.innerType)
      return (input) => (input === undefined ? undefined : inner(input))
    }
    case 'default': {
      const inner = compile(def.innerType)
      // The schema makes a new list or object for each input, so only other values can be read once.
      const first = def.defaultValue
      if (typeof first === 'object' && first !== null) {
        return (input) => (input === undefined ? def.defaultValue : inner(input))
      }
      return (input) => (input === undefined ? first : inner(input))
    }
    case 'transform':
      return readTransform(def.transform as (value: unknown, context: never) => unknown)
    case 'pipe': {
      const [before, after] = [compile(def.in), compile(def.out)]
      return (input) => {
        const value = before(input)
        return value === undecided ? undecided : after(value)
      }
    }
    default:
      return leaveToSchema
  }
}

const compiled = new WeakMap<Schema, Read>()

/** The compiled schema, made at its first use. */
export const readerOf = <T>(schema: z.ZodType<T>): Read<T> => {
  let read = compiled.get(schema)
  if (!read) {
    read = compile(schema)
    compiled.set(schema, read)
  }
  return read as Read<T>
}
