/**
 * Commands of the documentation that cannot run in a test: for each page, the beginning of a block and the reason. Every
 * other block runs.
 */
const starts = 'It starts the service in the foreground. The tests in test/start/ start it in many ways.'
const machine = 'It changes the packages and services of a machine. `npm run drill` sets up the same files.'
const ownServer = 'It needs a PostgreSQL server of the reader.'
const hours = 'It takes minutes to hours. test/commands/ starts it.'

export const notRun: Record<string, Record<string, string>> = {
  'README.md': {
    'npm install && npm start': starts,
    'npm install && npm test': 'It runs this suite.',
  },
  'docs/api.md': {
    'npm install openapi-fetch': 'It needs the registry. test/published-clients/ generates and calls such a client.',
  },
  'docs/operations.md': {
    'set -a; . /etc/tidings.env': 'It reads a file of the machine.',
    'cd .data': 'It opens the embedded database of the reader.',
    'npm run soak': hours,
    'npm run drill': hours,
  },
  'docs/providers.md': {
    'aws sns subscribe': 'It calls Amazon.',
  },
  'docs/self-hosting.md': {
    'npm install && npm start': starts,
    'API_PROCESSES=auto': starts,
    'DATABASE_URL=postgres://tidings:…@127.0.0.1:5432/tidings \\': starts,
    'apt-get install postgresql patroni': machine,
    'bash   # a shell of its own': machine,
    'psql -h 127.0.0.1 -p 5000': ownServer,
    pg_basebackup: ownServer,
    'tidings ops org create': 'It would add an org to the database that all pages share. src/app/operator/ tests it.',
    'git pull && npm install': 'It changes the project.',
  },
  'docs/smtp.md': {
    'SMTP_SUBMISSION_PORT=587': starts,
    swaks: 'It needs a program that few readers have. The tests in src/interfaces/submission/ send over SMTP.',
  },
}
