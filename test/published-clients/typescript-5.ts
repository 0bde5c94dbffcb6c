/** Loaded before openapi-typescript, which uses the API of TypeScript 5. TypeScript 7 does not have that API. */
import { registerHooks } from 'node:module'

registerHooks({
  resolve: (specifier, context, nextResolve) =>
    nextResolve(specifier === 'typescript' ? 'typescript-5' : specifier, context),
})
