import { allVariables } from '../src/platform/ground/config/env-variables.ts'
import { secretNames } from '../src/platform/ground/config/secret-files.ts'

/** The page docs/configuration.md, generated from the variables so that the two cannot differ. */
export const configurationPage = (): string => {
  const rows = allVariables.map(
    ([name, { accepts, default: value = 'none', fallback = value, about }]) =>
      `| \`${name}\` | ${accepts.text} | ${fallback} | ${about} |`,
  )
  return [
    '# Configuration',
    '',
    'This page is generated from `src/platform/ground/config/env-variables.ts` by `npm run docs`.',
    '',
    'You configure the service through environment variables, which it reads once at start. An empty value counts as',
    'not set. If the configuration is invalid, the service lists every problem and does not start.',
    '',
    'A secret can be in a file, such as a Docker or Kubernetes secret: `MASTER_KEY_FILE=/run/secrets/master_key` uses the',
    'content of that file, without a line break at its end, as `MASTER_KEY`. A variable and its `_FILE` variable cannot',
    'both be set, and a file that cannot be read, is empty or is larger than 64 KB is a problem of the configuration. Files',
    'are read once at start. These variables have a `_FILE` variable:',
    `${secretNames.map((name) => `\`${name}\``).join(', ')}.`,
    '',
    '| variable | accepts | default | description |',
    '|---|---|---|---|',
    ...rows,
    '',
  ].join('\n')
}
