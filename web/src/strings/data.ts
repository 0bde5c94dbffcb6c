/** Words of exports and of the status of the service. */
export const exportsPage = {
  title: 'Exports',
  description: 'All data of this organisation in one file, one JSON object a line. Secrets are not part of it.',
  start: 'Start an export',
  started: 'The export is under way. You can leave this page.',
  created: 'Started',
  status: 'Status',
  progress: 'Progress',
  rows: 'Rows',
  size: 'Size',
  expires: 'Deleted',
  file: 'File',
  download: 'Download',
  downloadLabel: (id: string) => `Download ${id}`,
  states: { queued: 'Queued', running: 'Running', completed: 'Completed', failed: 'Failed', expired: 'Deleted' },
  empty: 'No exports yet',
  emptyHelp: 'An export is made in the background. Its file can be downloaded here for a while and is then deleted.',
} as const

export const ownData = {
  title: 'Data export',
  description: 'Everything that this service stores about you as a person.',
  section: 'Your data',
  help: 'A JSON file with your profile, memberships, sessions and what you did. It is made at once.',
  download: 'Download your data',
  done: 'Your data is downloaded',
} as const

export const statusPage = {
  title: 'Service status',
  description: 'Which parts of this service work, checked once a minute.',
  overall: { up: 'Everything works', down: 'A part of the service is down', unknown: 'Not every part was checked yet' },
  states: { up: 'Works', down: 'Down', unknown: 'Not checked' },
  parts: {
    database: 'Database',
    limiter: 'Rate limits',
    email_provider: 'Email provider',
    sms_provider: 'SMS provider',
    worker: 'Worker',
  } as Record<string, string>,
  last30: (percent: string) => `${percent} in the last 30 days`,
  noFigure: 'No figures yet',
  checked: 'Checked',
  refresh: 'Refresh',
  days: (part: string) => `${part}, day by day`,
  day: (day: string, percent: string) => `${day}: ${percent}`,
  notChecked: 'not checked',
} as const
