/** The limits and prices of each plan. Amounts of money are whole millionths of a US dollar. */
import type { Channel } from '../../platform/ground/channel.ts'
import type { Plan } from '../orgs/plans.ts'

/** Live messages per UTC month. Null means unlimited. */
export const monthlyQuota: Record<Plan, Record<Channel, number | null>> = {
  free: { email: 3_000, sms: 100 },
  payg: { email: null, sms: null },
  pro: { email: 100_000, sms: 10_000 },
  enterprise: { email: 2_000_000, sms: 200_000 },
}

/** Test messages per UTC day, over all channels. */
export const testDaily: Record<Plan, number> = { free: 1_000, payg: 10_000, pro: 10_000, enterprise: 100_000 }

/** Recipients per UTC day through the sandbox sender. */
export const sandboxDaily = 100

export type Resource =
  | 'API keys'
  | 'domains'
  | 'projects'
  | 'webhook endpoints'
  | 'tenants'
  | 'phone numbers'
  | 'messaging pools'
  | 'audiences'

export const resourceLimit: Record<Resource, Record<Plan, number>> = {
  'API keys': { free: 20, payg: 50, pro: 100, enterprise: 1_000 },
  domains: { free: 2, payg: 10, pro: 50, enterprise: 1_000 },
  projects: { free: 2, payg: 10, pro: 25, enterprise: 250 },
  'webhook endpoints': { free: 3, payg: 10, pro: 25, enterprise: 250 },
  tenants: { free: 3, payg: 100, pro: 1_000, enterprise: 100_000 },
  'phone numbers': { free: 2, payg: 25, pro: 100, enterprise: 1_000 },
  'messaging pools': { free: 1, payg: 5, pro: 25, enterprise: 250 },
  audiences: { free: 3, payg: 50, pro: 500, enterprise: 10_000 },
}

export const dedicatedIpLimit: Record<Plan, number> = { free: 0, payg: 0, pro: 2, enterprise: 50 }

/** The price per email recipient. */
export const emailPrice: Record<Plan, number> = { free: 0, payg: 900, pro: 0, enterprise: 0 }

const domesticPrice: Record<Plan, number> = { free: 0, payg: 8_300, pro: 7_500, enterprise: 6_500 }
const listPrice: Record<string, number> = {
  GB: 46_300,
  AU: 51_500,
  DE: 106_000,
  FR: 79_800,
  IN: 83_200,
  BR: 60_000,
}
const defaultListPrice = 90_000
/** The discount on MMS and on segments outside the US and Canada, in percent. */
const discount: Record<Plan, number> = { free: 100, payg: 0, pro: 10, enterprise: 20 }

const isDomestic = (country: string): boolean => country === 'US' || country === 'CA'

/** The price per SMS segment. List prices are multiples of ten, so a discounted price is a whole number. */
export const segmentPrice = (plan: Plan, country: string): number =>
  isDomestic(country) ? domesticPrice[plan] : ((listPrice[country] ?? defaultListPrice) * (100 - discount[plan])) / 100

const domesticMmsPrice = 20_000
const foreignMmsPrice = 60_000

/** The price per MMS, whatever its length. */
export const mmsPrice = (plan: Plan, country: string): number =>
  ((isDomestic(country) ? domesticMmsPrice : foreignMmsPrice) * (100 - discount[plan])) / 100
