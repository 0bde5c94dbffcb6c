/** The domain that every org can send from to its own members, before it has one of its own. */
export const sandboxDomain = (slug: string, serviceDomain: string): string => `${slug}.sandbox.${serviceDomain}`
