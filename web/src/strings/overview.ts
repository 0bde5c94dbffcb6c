export const overview = {
  title: 'Overview',
  about: (org: string) => `What ${org} sends, and how it arrives.`,
  reference: 'API reference',
  referenceHelp: 'Every route with its fields and examples.',
  stepsTitle: 'First steps',
  stepsHelp: (done: number, all: number) => `${done} of ${all} done. The list goes away when all are.`,
  stepsDone: 'You finished the first steps.',
  showSteps: 'Show them again',
  attention: 'Needs attention',
  failing: (times: number) => `Failed ${times} times in a row`,
  disabled: 'Disabled after failures',
  pending: {
    brands: (count: number) => `${count} ${count === 1 ? 'brand waits' : 'brands wait'} for registration`,
    campaigns: (count: number) => `${count} ${count === 1 ? 'campaign waits' : 'campaigns wait'} for registration`,
    phone_numbers: (count: number) => `${count} ${count === 1 ? 'number waits' : 'numbers wait'} for registration`,
    dlt: (count: number) => `${count} DLT ${count === 1 ? 'registration waits' : 'registrations wait'} for approval`,
  },
  recent: 'Last 30 days',
  allFigures: 'All figures',
  done: 'Done',
  open: 'Open',
  steps: {
    key: { title: 'Create an API key', help: 'A program signs in with it. It is shown once.', action: 'Create a key' },
    message: {
      title: 'Send a first message',
      help: 'Put your key into the variable and run this, or write a message here. It goes to you.',
      sandbox:
        'Put your key into the variable and run this, or write a message here. It needs no domain: the sandbox sender of your organisation can write to you and to other members.',
      action: 'Write a message',
    },
    sent: {
      title: 'See it on its way',
      help: 'The list of messages shows what happened to it, and how it looks.',
      action: 'Look at messages',
    },
    domain: {
      title: 'Add your domain',
      help: 'Publish its DNS records to write to everybody from your own addresses.',
      waiting: 'A domain is added and waits for its DNS records.',
      action: 'Add a domain',
    },
    webhook: {
      title: 'Add a webhook endpoint',
      help: 'Your program learns at once what happens to messages.',
      action: 'Add an endpoint',
    },
  },
} as const
