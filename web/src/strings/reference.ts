/** Words of the list of API operations. */
export const reference = {
  title: 'API reference',
  about: 'Every request of the API, with an example to copy. Set TIDINGS_API_KEY to an API key before you run one.',
  open: 'Open the full reference',
  search: 'Search by path, name or purpose',
  group: 'Group',
  every: 'Every group',
  none: 'No operation matches',
  noneHelp: 'Change the search, or choose every group.',
  copy: (summary: string) => `Copy the curl command: ${summary}`,
  request: 'Request',
  response: 'Response',
  parameters: { path: 'Path', query: 'Query', header: 'Headers' },
  required: 'required',
  gone: 'The API has no such operation.',
} as const
