/** Words of the pages of templates. */
export const templates = {
  title: 'Templates',
  help: 'Content that messages share. Values such as {{name}} are filled in when a message is sent.',
  create: 'New template',
  createHelp: 'It begins with an example that you change in the editor.',
  created: (slug: string) => `${slug} is created`,
  slug: 'Slug',
  slugHelp: 'Refers to the template in requests: lower-case letters, digits and dashes.',
  channel: 'Channel',
  everyChannel: 'Email and SMS',
  channels: { email: 'Email', sms: 'SMS' },
  subjectOrText: 'Subject or text',
  updated: 'Changed',
  tenant: 'Tenant',
  empty: 'No template yet',
  emptyHelp:
    'Write an email or a text message once, with places for values. Programs then send it by its slug and supply the values.',
  noMatch: 'No template for this channel',
  clear: 'Show all',
  starters: {
    email: {
      subject: 'Welcome, {{name}}',
      html: `<!doctype html>
<html>
  <body>
    <h1>Welcome, {{name}}</h1>
    <p>Your account is ready.</p>
    {{#if plan}}<p>Your plan is {{plan}}.</p>{{/if}}
  </body>
</html>
`,
      text: 'Welcome, {{name}}. Your account is ready.',
    },
    sms: { text: 'Your code is {{code}}.' },
  },
} as const

export const editor = {
  title: 'Template',
  subject: 'Subject',
  html: 'HTML',
  text: 'Text',
  parts: 'Parts of the template',
  partNames: { subject: 'Subject', html: 'HTML', text: 'Text' },
  htmlEditor: 'HTML of the template',
  textEditor: 'Text of the template',
  loading: 'Loading the editor',
  save: 'Save',
  saved: 'The template is saved',
  unsaved: 'Not saved',
  discard: 'Discard changes',
  discarded: 'The changes are discarded',
  nothingToSave: 'Nothing has changed since it was saved.',
  problems: 'Problems',
  place: (part: string, line: number, column: number) => `${part} ${line}:${column}`,
  noValue: (name: string) => `{{${name}}} has no value in the preview. A send without one is refused.`,
  preview: 'Preview',
  previewTabs: 'Forms of the preview',
  bodyTitle: 'Preview of the email',
  noHtml: 'This template has no HTML part.',
  noText: 'This template has no text part.',
  previewFailed: 'The preview could not be made',
  variables: 'Variables',
  variablesHelp: 'Values for the preview and for test messages, as JSON.',
  notJson: (why: string) => `This is not JSON yet: ${why}`,
  notObject: 'Write an object, such as {"name": "Ada"}.',
  addMissing: (names: string) => `Add ${names}`,
  api: 'API',
  test: 'Send a test',
  testTitle: 'Send a test message',
  testHelp: 'It is really sent, with the variables of the preview, and carries the tag template-test.',
  testFrom: 'From',
  testFromHelp: { email: 'An address of one of your domains.', sms: 'A number or a sender id of yours.' },
  testTo: 'To',
  testToHelp: {
    email: 'Addresses, separated by commas.',
    sms: 'A number with its country code, such as +14155550100.',
  },
  testSent: 'The test message is sent',
  testOpen: 'Open the message',
  saveFirst: 'Save the template first.',
  fixVariables: 'Correct the variables first.',
  rename: 'Rename',
  renameHelp: 'Programs that send the template by its old slug fail afterwards.',
  renamed: (slug: string) => `The template is now ${slug}`,
  delete: 'Delete template',
  deleteTitle: (slug: string) => `Delete ${slug}?`,
  deleteHelp: 'Requests that name it fail. Messages that exist keep their content. This cannot be undone.',
  deleted: (slug: string) => `${slug} is deleted`,
  id: 'Id',
} as const
