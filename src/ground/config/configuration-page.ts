import { allVariables } from './env-variables.ts'

/** The page docs/configuration.md, generated from the variables so that the two cannot differ. */
export const configurationPage = (): string => {
  const rows = allVariables.map(
    ([name, { accepts, fallback = 'none', about }]) => `| \`${name}\` | ${accepts.text} | ${fallback} | ${about} |`,
  )
  return [
    '# Configuration',
    '',
    'This page is generated from `src/ground/config/env-variables.ts` by `npm run docs`.',
    '',
    'You configure the service through environment variables, which it reads once at start. An empty value counts as',
    'not set. If the configuration is invalid, the service lists every problem and does not start.',
    '',
    '| variable | accepts | default | description |',
    '|---|---|---|---|',
    ...rows,
    '',
  ].join('\n')
}
