/** From the lowest to the highest. */
export const plans = ['free', 'payg', 'pro', 'enterprise'] as const
export type Plan = (typeof plans)[number]

/** Requests per minute, shared by all keys of an org. */
export const requestsPerMinute: Record<Plan, number> = { free: 60, payg: 600, pro: 600, enterprise: 6000 }

export const isPlan = (text: string): text is Plan => (plans as readonly string[]).includes(text)

export const isHigherPlan = (plan: Plan, than: Plan): boolean => plans.indexOf(plan) > plans.indexOf(than)
