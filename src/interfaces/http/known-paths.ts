/** Refuses requests that no route serves: with a 405 and the methods of the path, or with a 404. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import { Failure } from '../../platform/ground/errors.ts'
import { type Area, pathOf, routeUrl } from './area.ts'
import type { Route } from './route.ts'

type KnownPath = { pattern: RegExp; methods: string[] }

const hasParameters = ({ path }: Route): boolean => /[{*]/.test(path)

const patternOf = (url: string): RegExp => {
  const parts = url.split(/(\{\w+\}|\*$)/)
  return new RegExp(
    `^${parts.map((part, i) => (i % 2 === 0 ? RegExp.escape(part) : part === '*' ? '.*' : '[^/]+')).join('')}$`,
  )
}

/** The methods of each path. Literal paths come before those with a parameter in the same position. */
const knownPaths = (area: Area): KnownPath[] => {
  const shown = area.routes.filter(({ hidden }) => !hidden)
  const literalFirst = [...shown.filter((route) => !hasParameters(route)), ...shown.filter(hasParameters)]
  const byUrl = Map.groupBy(literalFirst, (route) => routeUrl(area, route))
  return [...byUrl].map(([url, sameUrl]) => {
    const methods: string[] = sameUrl.map(({ method }) => method)
    if (sameUrl.some(({ method, acts }) => method === 'GET' && !acts)) methods.push('HEAD')
    return { pattern: patternOf(url), methods: methods.sort() }
  })
}

export const makeKnownPaths = (areas: readonly Area[]) => {
  const known = new Map(areas.map((area) => [area, knownPaths(area)]))
  const literals = new Set(
    areas.flatMap((area) => area.routes.filter((route) => !hasParameters(route)).map((route) => routeUrl(area, route))),
  )
  /** Undefined if the router rejected something else about the URL: that is a 404, not a 405. */
  const otherMethods = (area: Area, { url, method }: FastifyRequest): string[] | undefined => {
    const path = pathOf(url)
    const methods = known.get(area)?.find(({ pattern }) => pattern.test(path))?.methods
    return methods?.includes(method) ? undefined : methods
  }
  return {
    /** Whether a path without parameters is this one. The router may read its last segment as an id. */
    isLiteral: (url: string): boolean => literals.has(pathOf(url)),
    /** Whether a route serves the path with another method. */
    hasOtherMethods: (area: Area, request: FastifyRequest): boolean => otherMethods(area, request) !== undefined,
    refuse: async (area: Area, request: FastifyRequest, reply: FastifyReply): Promise<never> => {
      await area.admitUnknown?.(request, reply)
      const allow = otherMethods(area, request)
      const { unknownMessage: message } = area
      if (!allow) throw new Failure('NOT_FOUND', message === undefined ? {} : { message })
      throw new Failure('METHOD_NOT_ALLOWED', { headers: { allow: allow.join(', ') } })
    },
  }
}

export type KnownPaths = ReturnType<typeof makeKnownPaths>
