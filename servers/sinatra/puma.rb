# frozen_string_literal: true

host = ENV.fetch('HOST')
host = "[#{host}]" if host.include?(':')
bind "tcp://#{host}:#{ENV.fetch('PORT')}?backlog=4096"
rackup File.join(__dir__, 'config.ru')

# Puma's default for a Ruby with a global lock, if the database allows as many connections.
count = Integer(ENV.fetch('WORKERS'))
each = (Integer(ENV.fetch('DATABASE_MAX_CONN')) / count).clamp(1, 5)
ENV['THREADS'] = each.to_s

# A single worker needs no second process to watch it.
workers count if count > 1
threads each, each
# Idle connections stay open: at a low rate, a time-out would look like a failure.
persistent_timeout 3600
