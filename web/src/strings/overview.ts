export const overview = {
  title: 'Overview',
  greeting: (org: string) => `This is ${org}. Choose a page at the left, or press ⌘K to search.`,
  reference: 'API reference',
  referenceHelp: 'Every route with its fields and examples.',
} as const
