export const overview = {
  title: 'Overview',
  greeting: (org: string) => `This is ${org}. Choose a page at the left, or press ⌘K to search.`,
  reference: 'API reference',
  referenceHelp: 'Every route with its fields and examples.',
  stepsTitle: 'First steps',
  stepsHelp: (done: number, all: number) => `${done} of ${all} done. The list goes away when all are.`,
  stepsDone: 'You finished the first steps.',
  showSteps: 'Show them again',
  done: 'Done',
  open: 'Open',
  steps: {
    key: { title: 'Create an API key', help: 'A program signs in with it. It is shown once.', action: 'Create a key' },
    message: {
      title: 'Send a first message',
      help: 'Put your key into the variable and run this. To addresses of your team it works before you have a domain.',
    },
    arrived: {
      title: 'See it arrive',
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
