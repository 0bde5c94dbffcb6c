import { serviceFlags } from '../../bin/flags.js'
import type { Bench } from '../harness.ts'
import { workContender } from '../work.ts'

const contender = (name: 'ours' | 'handlebars') =>
  workContender({
    name,
    program: new URL('../servers/template.ts', import.meta.url),
    flags: serviceFlags,
    params: async () => ({ by: name }),
  })

/** Every send with a template renders it, and an audience send renders it once for each of ten thousand recipients. */
export const template: Bench = {
  name: 'template',
  about:
    'Render a compiled 4 KB page with ten variables, a loop of twenty items and two conditions, escaped for HTML; one unit is a hundred pages.',
  clients: [1],
  baseline: 'handlebars',
  contenders: [contender('ours'), contender('handlebars')],
  targets: [{ kind: 'ratio', figure: 'perSecond', clients: 1, of: 'ours', to: 'handlebars', atLeast: 1.3 }],
}
