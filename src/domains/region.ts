/** Where mail leaves from: domains and IP pools each stand in one. */
export const regions = ['us-east-1', 'eu-west-1', 'ap-south-1'] as const
export type Region = (typeof regions)[number]
