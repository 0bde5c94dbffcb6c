/** Where mail is sent from. Each domain and each IP pool belongs to one region. */
export const regions = ['us-east-1', 'eu-west-1', 'ap-south-1'] as const
export type Region = (typeof regions)[number]
