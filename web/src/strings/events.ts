/** Words of the catalogue of events. */
export const events = {
  title: 'Events',
  about: 'What the service reports to your webhook endpoints. An endpoint gets all events, or those that you choose.',
  search: 'Search events',
  every: 'Every subject',
  subject: 'Subject',
  columns: { name: 'Event', meaning: 'When it is sent' },
  none: 'No event matches',
  noneHelp: 'Change the search, or choose every subject.',
  endpoints: 'Webhook endpoints',
  tabsLabel: 'Parts of the event',
  tabs: { payload: 'Payload', fields: 'Fields', api: 'API' },
  payload: 'Example of the body',
  fields: 'Fields of data',
  subscribe: 'Add an endpoint that gets this event',
  try: 'Send a sample of it to an endpoint',
  missing: 'This version of the service does not describe the event.',
} as const
